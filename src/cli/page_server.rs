//! Serves a page to browsers of this machine, for those that cannot open files.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Where snaps, which read neither `/tmp` nor hidden directories, have their desktop entries.
const SNAPS: &str = "/var/lib/snapd/desktop/applications";

/// How long a browser may take to send a request, or to read the page.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a request.
const REQUEST: u64 = 16 << 10;

/// Whether the user's browser cannot open files in the directory for temporary files.
pub fn is_needed() -> bool {
    let mut command = Command::new("xdg-settings");
    let command = command.args(["get", "default-web-browser"]).stdin(Stdio::null()).stderr(Stdio::null());
    let browser = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    browser.is_ok_and(|name| !name.is_empty() && Path::new(SNAPS).join(name).exists())
}

/// A server of one page.
pub struct PageServer {
    listener: TcpListener,
    page: Arc<[u8]>,
    path: String,
}

impl PageServer {
    /// Serves a file on a free port. Its path in the address is not guessable, so that other users do not find it.
    ///
    /// # Errors
    /// If the file cannot be read, or no port can be opened.
    pub fn new(file: &Path) -> io::Result<Self> {
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
    pub fn address(&self) -> io::Result<String> {
        Ok(format!("http://{}{}", self.listener.local_addr()?, self.path))
    }

    /// Answers requests until the program ends.
    ///
    /// # Errors
    /// If connections can no longer be accepted.
    pub fn run(self) -> io::Result<()> {
        for connection in self.listener.incoming() {
            let (connection, page, path) = (connection?, Arc::clone(&self.page), self.path.clone());
            // Browsers open connections in advance, and send nothing on some.
            thread::Builder::new().spawn(move || _ = answer(connection, &page, &path))?;
        }
        Ok(())
    }
}

fn answer(mut connection: TcpStream, page: &[u8], path: &str) -> io::Result<()> {
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    let mut request = BufReader::new((&connection).take(REQUEST));
    let mut line = String::new();
    request.read_line(&mut line)?;
    let mut header = String::new();
    while request.read_line(&mut header)? > 0 && header.trim_end() != "" {
        header.clear();
    }
    let mut words = line.split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some(target)) if target.split('?').next() == Some(path) => ("200 OK", page),
        _ => ("404 Not Found", &b""[..]),
    };
    let size = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {size}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    connection.write_all(body)
}
