//! Sessions of ssh, whose user's browser is on another machine.

use std::env;
use std::net::{IpAddr, SocketAddr};

/// The port of ssh.
const SSH_PORT: u16 = 22;

/// A session of ssh.
pub(super) struct SshSession {
    /// Address and port of this machine, as the client sees them; `None` if the session does not state them.
    server: Option<(IpAddr, u16)>,
    user: Option<String>,
}

impl SshSession {
    /// The session in which the program runs, if any.
    pub(super) fn current() -> Option<Self> {
        let connection = env::var("SSH_CONNECTION").ok()?;
        Some(Self::new(&connection, env::var("USER").ok()))
    }

    /// By the variable SSH_CONNECTION: address and port of the client, and of the server.
    fn new(connection: &str, user: Option<String>) -> Self {
        let words: Vec<_> = connection.split_whitespace().collect();
        let server = match words[..] {
            [_, _, address, port] => address.parse().ok().zip(port.parse().ok()),
            _ => None,
        };
        let is_plain = |user: &String| {
            !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        Self { server, user: user.filter(is_plain) }
    }

    /// The command that makes a port of this machine available on that of the user.
    pub(super) fn forwarding(&self, served: SocketAddr) -> String {
        let port = served.port();
        let host = self.server.map_or("HOST".to_owned(), |(address, _)| address.to_string());
        let host = self.user.iter().fold(host, |host, user| format!("{user}@{host}"));
        let option = match self.server {
            Some((_, port)) if port != SSH_PORT => format!(" -p {port}"),
            _ => String::new(),
        };
        format!("ssh -N -L {port}:{served}{option} {host}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_the_port_of_the_session() {
        let command = |connection: &str, user: &str, served: &str| {
            SshSession::new(connection, Some(user.to_owned())).forwarding(served.parse().expect("an address"))
        };
        let session = "192.0.2.1 50000 192.0.2.2 22";
        assert_eq!(command(session, "dev", "127.0.0.1:8000"), "ssh -N -L 8000:127.0.0.1:8000 dev@192.0.2.2");
        let other_port = command("2001:db8::1 50000 2001:db8::2 2222", "dev", "[::1]:80");
        assert_eq!(other_port, "ssh -N -L 80:[::1]:80 -p 2222 dev@2001:db8::2");
        for (session, user) in [("", "$(x)"), ("1 2 3", ""), ("a b c; d", "x y")] {
            assert_eq!(command(session, user, "127.0.0.1:80"), "ssh -N -L 80:127.0.0.1:80 HOST");
        }
    }
}
