

def result(path):
    try:
        return read(path)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


json.dump([result(path) for path in sys.argv[1:]], sys.stdout)
