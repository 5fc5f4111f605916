// The clock that the library reads, as Date.now() and as new Date(). Timers go
// on by the real one. It is in place before the library is loaded.
'use strict';

const Real = globalThis.Date;
let now = Real.now;

globalThis.Date = class extends Real {
  constructor(...args) {
    super(...(args.length ? args : [now()]));
  }

  static now() {
    return now();
  }
};

function ops() {
  return {
    // Stops the clock at a time.
    'clock.set': async ({ ms }) => {
      now = () => ms;
    },
    // Lets the real clock be read again.
    'clock.real': async () => {
      now = Real.now;
    },
  };
}

module.exports = { ops };
