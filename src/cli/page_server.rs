//! Serves a page, or the profile that a web page shows, to browsers: for those that cannot open files, or are on another machine.

use super::page_request::{self, PageRequest};
use super::viewer::Viewer;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
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

/// A server of one file.
pub(super) struct PageServer {
    listener: TcpListener,
    viewer: Viewer,
    page: Arc<[u8]>,
    path: String,
}

impl PageServer {
    /// Serves the file of a viewer in a directory. Its path in the address is not guessable, so that other users do not find it.
    ///
    /// # Errors
    /// If the file cannot be read, or the port cannot be opened.
    pub(super) fn new(directory: &Path, viewer: Viewer, address: SocketAddr) -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let name: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let page = fs::read(directory.join(viewer.file_name()))?.into();
        let path = format!("/{name}/{}", viewer.file_name());
        Ok(Self { listener: TcpListener::bind(address)?, viewer, page, path })
    }

    /// The address and port that it serves.
    ///
    /// # Errors
    /// If the system does not know the port.
    pub(super) fn socket(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address of the file for browsers. All addresses of this machine are represented by its name, which other machines may know.
    pub(super) fn address(&self, socket: SocketAddr) -> String {
        let host = match host_name().filter(|_| socket.ip().is_unspecified()) {
            Some(name) => format!("{name}:{}", socket.port()),
            None if socket.ip().is_unspecified() => SocketAddr::new(LOCALHOST, socket.port()).to_string(),
            None => socket.to_string(),
        };
        format!("http://{host}{}", self.path)
    }

    /// Answers requests until the program ends.
    ///
    /// # Errors
    /// If the system does not know the port.
    pub(super) fn run(self) -> io::Result<()> {
        let hosts = hosts(self.listener.local_addr()?);
        let served = Arc::new(ServedPage { viewer: self.viewer, page: self.page, path: self.path, hosts });
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

/// Where a server listens that only this machine can reach.
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Accepted values of the header Host, for a server that only this machine can reach: a web page whose domain resolves to this machine
/// sends another one. Other machines can reach the server by any name.
fn hosts(socket: SocketAddr) -> Option<Vec<String>> {
    let port = socket.port();
    let local = || vec![socket.to_string(), format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    socket.ip().is_loopback().then(local)
}

/// The name of this machine.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    Some(name.trim().to_owned()).filter(|name| is_plain(name))
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
    viewer: Viewer,
    page: Arc<[u8]>,
    path: String,
    hosts: Option<Vec<String>>,
}

impl ServedPage {
    fn answer(&self, connection: &Connection) -> io::Result<()> {
        let mut stream = &connection.stream;
        let request = read_request(stream)?;
        let request = page_request::parse(&request, &self.path, self.hosts.as_deref());
        let (status, body) = match request {
            Some(PageRequest::Get) => ("200 OK", &*self.page),
            // Asks whether a web page may load the file.
            Some(PageRequest::Options) if self.viewer.origin().is_some() => ("204 No Content", &b""[..]),
            _ => ("404 Not Found", &b""[..]),
        };
        let (size, media_type) = (body.len(), self.viewer.media_type());
        let origin = self.viewer.origin().filter(|_| request.is_some());
        let access = origin.map_or(String::new(), |origin| {
            // Chrome asks for the permission to load files of this machine.
            let private = "Access-Control-Allow-Private-Network: true";
            format!("Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Allow-Methods: GET\r\n{private}\r\nVary: Origin\r\n")
        });
        // A connection that does not know the path may still be closed in favor of others.
        connection.is_answered.store(!body.is_empty(), Ordering::Relaxed);
        stream.set_write_timeout(Some(TIMEOUT))?;
        // The address is a secret: neither a cache nor the Referer header may disclose the page or its path.
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {size}\r\n{access}\
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
