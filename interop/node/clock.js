// The clock that the library reads. Timers go on by the real one.
'use strict';

const real = Date.now;

function ops() {
  return {
    // Stops the clock at a time.
    'clock.set': async ({ ms }) => {
      Date.now = () => ms;
    },
    // Lets the real clock be read again.
    'clock.real': async () => {
      Date.now = real;
    },
  };
}

module.exports = { ops };
