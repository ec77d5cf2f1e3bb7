"""A headless Chromium over its own pipe: null-terminated JSON on descriptors 3 and 4, and nothing to install."""

import base64
import fcntl
import json
import os
import re
import select
import signal
import time
from pathlib import Path

SECONDS = 60.0  # a busy machine starts a browser slowly; only a browser that hangs ever waits this long
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """A process of its own, ended by `close`."""

    def __init__(self, program, profile):
        ours_in, theirs_out = _pipe()
        theirs_in, ours_out = _pipe()
        quiet = [(os.POSIX_SPAWN_OPEN, k, os.devnull, os.O_RDWR, 0) for k in (0, 1, 2)]
        ends = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = os.posix_spawn(program, command, os.environ, file_actions=[*quiet, *ends], setsid=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._buffer, self._number, self.events = ours_in, ours_out, b"", 0, []

    def call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method, session):
        """The first event of this name, past or to come."""
        while True:
            for event in self.events:
                if event["method"] == method and event.get("sessionId") == session:
                    return event["params"]
            self.events.append(self._receive(method))

    def _receive(self, purpose):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError(f"the browser gave no answer to {purpose}")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path):
        return Page(self, Path(path).resolve().as_uri())

    def close(self):
        """Ask it to leave, and make it leave; only this process and its children are meant."""
        os.close(self._out)  # a browser without its pipe ends
        for _ in range(100):
            if os.waitpid(self._process, os.WNOHANG)[0]:
                break
            time.sleep(0.05)
        else:
            os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        os.close(self._in)


class Page:
    """One open page and all that it logged, threw or asked for."""

    def __init__(self, browser, address):
        self._browser, self.address = browser, address
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)
        browser.wait("Page.loadEventFired", self._session)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def value(self, expression):
        """The JSON value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def texts(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def complaints(self):
        """Exceptions, console errors and warnings, and what the browser itself logged, such as a broken policy."""
        said = [event for event in self._events() if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        calls = [event for event in self._events() if event["method"] == "Runtime.consoleAPICalled"]
        return said + [event for event in calls if event["params"]["type"] in ("error", "warning", "assert")]

    def requests(self):
        sent = [event for event in self._events() if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def _events(self):
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def click(self, selector):
        """A real click of the mouse in the middle of an element."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.value(f"{where}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.value(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({where}.getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key, code, text=None):
        extra = {} if text is None else {"text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def emulate(self, media="", **features):
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=listed)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path, whole=True):
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def printed(self):
        """Sheets of A4, and where headings stand: number of the sheet's object, and points from its lower edge."""
        found = self.call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True, printBackground=True,
            generateTaggedPDF=True, generateDocumentOutline=True,
        )  # fmt: skip
        content = base64.b64decode(found["data"])
        places = re.findall(rb"/Dest \[(\d+) 0 R /XYZ [\d.]+ ([\d.]+) 0\]", content)
        return len(re.findall(rb"/Type /Page\b", content)), [(int(sheet), float(y)) for sheet, y in places]

    def accessible(self):
        """Role and name of everything that a screen reader meets."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
        ]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)


def _pipe():
    """Both ends above the descriptors that the browser expects, so that no copy overwrites another."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved
