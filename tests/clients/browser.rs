//! A browser without a window that is controlled through the DevTools protocol: real events of mouse and keyboard.

use crate::common::program::with_time_limit;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A page in a browser.
pub(super) struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
    /// ID of the connection to the page.
    session: Option<String>,
    /// The directory of the browser's profile.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens an empty page of this size in CSS pixels.
    pub(super) fn start(width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        // The protocol's pipes are descriptors 3 and 4: messages end with a zero byte.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
        let mut command = with_time_limit("sh");
        command.args(["-c", script, "sh", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("a browser");
        let input = process.stdin.take().expect("standard input");
        let output = BufReader::new(process.stdout.take().expect("standard output"));
        let mut browser = Self { process, input, output, requests: 0, session: None, _profile: profile };
        let target = browser.request("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.request("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 700 });
        browser.request("Emulation.setDeviceMetricsOverride", size);
        browser
    }

    /// Opens a page written by perfconv, and waits until its program has drawn it.
    pub(super) fn open(&mut self, page: &Path, fragment: &str) {
        // Without a document in between, another fragment would not load the page again.
        self.request("Page.navigate", json!({ "url": "about:blank" }));
        self.request("Page.navigate", json!({ "url": format!("file://{}#{fragment}", page.display()) }));
        let ready = "new Promise((done) => { const check = () => \
                     document.body?.dataset.ready ? done(true) : setTimeout(check, 10); check(); })";
        assert_eq!(self.evaluate(ready), true);
    }

    /// The value of an expression in the page, and of the promise that it is.
    pub(super) fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.request("Runtime.evaluate", arguments);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The string that an expression in the page is.
    pub(super) fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// The number that an expression in the page is.
    pub(super) fn number(&mut self, expression: &str) -> f64 {
        let value = self.evaluate(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// Presses and releases a key, such as `r`, `Enter` or `Shift+ArrowLeft`.
    pub(super) fn press(&mut self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers });
        if key == "Enter" {
            down["text"] = json!("\r");
        } else if code == 0 {
            down["text"] = json!(key);
        }
        for event in [down, json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code })] {
            self.request("Input.dispatchKeyEvent", event);
        }
    }

    /// Moves the mouse to each of these points, with the left button pressed at the first and released at the last.
    pub(super) fn drag(&mut self, points: &[(f64, f64)]) {
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return };
        let moves = points[1..].iter().map(|&point| ("mouseMoved", point, 1));
        let events = [("mouseMoved", first, 0), ("mousePressed", first, 1)].into_iter().chain(moves);
        for (kind, (x, y), buttons) in events.chain([("mouseReleased", last, 0)]) {
            let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
            self.request("Input.dispatchMouseEvent", event);
        }
    }

    /// Moves the mouse to a point.
    pub(super) fn hover(&mut self, (x, y): (f64, f64)) {
        self.request("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Clicks twice at a point.
    pub(super) fn double_click(&mut self, (x, y): (f64, f64)) {
        for (kind, clicks) in [("mousePressed", 1), ("mouseReleased", 1), ("mousePressed", 2), ("mouseReleased", 2)] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": clicks });
            self.request("Input.dispatchMouseEvent", event);
        }
    }

    /// Goes back in the history, and waits until the page has shown that.
    pub(super) fn back(&mut self) {
        let shown = "new Promise((done) => { addEventListener('popstate', () => setTimeout(() => done(true)), { once: true }); history.back(); })";
        assert_eq!(self.evaluate(shown), true);
    }

    /// Shows the page as on the screen, or as on paper.
    pub(super) fn set_medium(&mut self, medium: &str) {
        self.request("Emulation.setEmulatedMedia", json!({ "media": medium }));
    }

    /// Sends a request and returns its result.
    fn request(&mut self, method: &str, arguments: Value) -> Value {
        self.requests += 1;
        let mut request = json!({ "id": self.requests, "method": method, "params": arguments });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        write!(self.input, "{request}\0").and_then(|()| self.input.flush()).expect("a request to the browser");
        loop {
            let mut message = Vec::new();
            self.output.read_until(0, &mut message).expect("a message of the browser");
            assert_eq!(message.pop(), Some(0), "{method}: the browser has exited");
            let message: Value = serde_json::from_slice(&message).expect("JSON");
            // Others are events.
            if message["id"] == self.requests {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser exits on this request.
        let _ = write!(self.input, "{}\0", json!({ "id": 0, "method": "Browser.close" }));
        let _ = self.input.flush();
        let _ = self.process.wait();
    }
}
