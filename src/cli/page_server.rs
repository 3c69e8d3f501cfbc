//! Serves a page to browsers of this machine, for those that cannot open files.

use super::page_request::is_asked_for;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Where snaps, which read neither `/tmp` nor hidden directories, have their desktop entries.
const SNAPS: &str = "/var/lib/snapd/desktop/applications";

/// How long a browser may take to send a request, or to read the page.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a request.
const REQUEST: usize = 16 << 10;

/// Maximum number of connections: browsers open six to a server.
const MAX_CONNECTIONS: usize = 16;

/// How long no connections are accepted after that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether the user's browser cannot open files in the directory for temporary files.
pub(super) fn is_needed() -> bool {
    let mut command = Command::new("xdg-settings");
    let command = command.args(["get", "default-web-browser"]).stdin(Stdio::null()).stderr(Stdio::null());
    let browser = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    browser.is_ok_and(|name| !name.is_empty() && Path::new(SNAPS).join(name).exists())
}

/// A server of one page.
pub(super) struct PageServer {
    listener: TcpListener,
    page: Arc<[u8]>,
    path: String,
}

impl PageServer {
    /// Serves a file on a free port. Its path in the address is not guessable, so that other users do not find it.
    ///
    /// # Errors
    /// If the file cannot be read, or no port can be opened.
    pub(super) fn new(file: &Path) -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let name: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Self { listener, page: fs::read(file)?.into(), path: format!("/{name}/profile.html") })
    }

    /// The address of the page.
    ///
    /// # Errors
    /// If the system does not know the port.
    pub(super) fn address(&self) -> io::Result<String> {
        Ok(format!("http://{}{}", self.listener.local_addr()?, self.path))
    }

    /// Answers requests until the program ends.
    ///
    /// # Errors
    /// If the system does not know the port.
    pub(super) fn run(self) -> io::Result<()> {
        let port = self.listener.local_addr()?.port();
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
        let served = Arc::new(ServedPage { page: self.page, path: self.path, hosts });
        let mut open = VecDeque::new();
        loop {
            // Fails if the program has too many open files, or the other end has gone.
            let Ok((connection, _)) = self.listener.accept() else {
                close_oldest(&mut open);
                thread::sleep(PAUSE);
                continue;
            };
            open.retain(|connection| Weak::strong_count(connection) > 0);
            if open.len() >= MAX_CONNECTIONS && !close_oldest(&mut open) {
                continue;
            }
            let connection = Arc::new(Connection { stream: connection, is_answered: AtomicBool::new(false) });
            open.push_back(Arc::downgrade(&connection));
            let (thread_connection, page) = (Arc::clone(&connection), Arc::clone(&served));
            // Browsers open connections in advance, and send nothing on some.
            if thread::Builder::new().spawn(move || _ = page.answer(&thread_connection)).is_err() {
                // Answers without a thread; other connections wait.
                let _ = served.answer(&connection);
            }
        }
    }
}

/// A connection, closed by whoever drops it last.
struct Connection {
    stream: TcpStream,
    /// Whether its request has been read.
    is_answered: AtomicBool,
}

/// Closes the connection that has been waiting for a request for the longest time; returns whether there was one. Any user of the
/// machine can open connections, but only those who know the path are answered.
fn close_oldest(open: &mut VecDeque<Weak<Connection>>) -> bool {
    let is_waiting = |connection: &Weak<Connection>| {
        connection.upgrade().is_some_and(|connection| !connection.is_answered.load(Ordering::Relaxed))
    };
    let oldest = open.iter().position(is_waiting).and_then(|index| open.remove(index)).and_then(|it| it.upgrade());
    oldest.is_some_and(|connection| connection.stream.shutdown(Shutdown::Both).is_ok())
}

/// The page and who may ask for it.
struct ServedPage {
    page: Arc<[u8]>,
    path: String,
    /// Accepted values of the header Host: a web page whose domain resolves to this machine sends another one.
    hosts: [String; 2],
}

impl ServedPage {
    fn answer(&self, connection: &Connection) -> io::Result<()> {
        let mut stream = &connection.stream;
        let request = read_request(stream)?;
        let (status, body) = match is_asked_for(&request, &self.path, &self.hosts) {
            true => ("200 OK", &*self.page),
            false => ("404 Not Found", &b""[..]),
        };
        // A connection that does not know the path may still be closed in favor of others.
        connection.is_answered.store(!body.is_empty(), Ordering::Relaxed);
        stream.set_write_timeout(Some(TIMEOUT))?;
        let size = body.len();
        // The address is a secret: neither a cache nor the Referer header may disclose the page or its path.
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {size}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
        )?;
        stream.write_all(body)
    }
}

/// Reads the lines of a request, for a limited time in all.
fn read_request(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let end = Instant::now() + TIMEOUT;
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") && request.len() < REQUEST {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => break,
            len => request.extend_from_slice(&buffer[..len]),
        }
    }
    Ok(request)
}
