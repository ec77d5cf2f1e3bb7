// Browsers start no workers on pages opened from disk, and the search of the site runs in one.
// There this class takes the place of Worker: it runs the script of the worker in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      this.ready = new Promise((loaded) => script.addEventListener("load", loaded));
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data })));
    }
  };
}
