// Search in pages that are opened from disk. Browsers start no worker from a file: address, so the search runs in a hidden
// frame there, with the interface of a worker. The theme asks for the class by this name.
if (location.protocol === 'file:') {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write('<!doctype html><title>search</title><body></body>');
      inside.document.close();
      inside.postMessage = data => this.dispatchEvent(new MessageEvent('message', {data}));
      this.loaded = new Promise(resolve => {
        const script = inside.document.createElement('script');
        script.src = address;
        script.onload = () => resolve(inside);
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(inside => inside.dispatchEvent(new inside.MessageEvent('message', {data})));
    }

    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
