"""A Chromium without a window, led by its DevTools protocol over a pipe: no package is needed."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One tab. `errors` are what its console and its network said since the last look; `asked` the addresses that it
    asked for."""

    def __init__(self):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ("--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe "
                 "--disable-background-networking --disable-component-update")
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", BROWSER, *flags.split(),
             f"--user-data-dir={self._folder.name}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "about:blank"], pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._ids, self._rest, self._session = itertools.count(1), b"", None
        self.errors, self.asked, self._loaded = [], [], False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        # Each page is seen by somebody new.
        self.call("Page.addScriptToEvaluateOnNewDocument", source="try { localStorage.clear() } catch {}")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _message(self, seconds):
        """The next one; None where none comes in that time."""
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], seconds)[0]:
                return None
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def _event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def call(self, method, **params):
        """The result of a method of the protocol."""
        n = next(self._ids)
        message = {"id": n, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message(120)
            if answer is None:
                raise TimeoutError(method)
            if answer.get("id") == n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._event(answer)

    def open(self, address, width, scheme, height=900):
        """Shows a page in a window of that size, for somebody who prefers these colours."""
        self._navigate("about:blank")  # else the page before would see the colours change
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.errors, self.asked = [], []
        self._navigate(address)

    def _navigate(self, address):
        self._loaded = False
        self.call("Page.navigate", url=address)
        end = time.monotonic() + 60
        while not self._loaded:
            message = self._message(max(0.0, end - time.monotonic()))
            if message is None:
                raise TimeoutError(address)
            self._event(message)

    def run(self, expression):
        """The value of an expression in the page, awaited where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def soon(self, expression, seconds=20):
        """Does it become true?"""
        end = time.monotonic() + seconds
        while not (found := self.run(expression)) and time.monotonic() < end:
            time.sleep(0.05)
        return bool(found)

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))
