// Writes stringify.json: what JSON.stringify makes of numbers, given by their
// bits, and of strings, given by their code points. Run it with
//
//	node stringify.mjs > stringify.json
let seed = 1
const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed / 2147483648
}

const view = new DataView(new ArrayBuffer(8))
const hex = (n) => {
  view.setFloat64(0, n)
  return view.getBigUint64(0).toString(16).padStart(16, '0')
}

const numbers = [
  0, -0, 1, -1, 0.1, 0.2, 1 / 3, 1e-5, 1e-6, 9.99e-7, 1e-7, 1.5e-7, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308,
  1e15, 1e16, 1e17, 1e20, 1e21, -1e21, 1.2e21, 123456789012345680000, 1e22, 1e23, 1e100, 2 ** 53, 2 ** 53 - 1, -(2 ** 53), 2 ** 60, 2 ** 63, 2 ** 64,
  4.35, 0.000001, 0.0000015, 100, 1e2, 123e-20, 1e-10, 12345.678,
]
for (let i = 0; i < 150; i++) {
  numbers.push((random() - 0.5) * 10 ** Math.floor(random() * 60 - 30))
  numbers.push(Math.floor((random() - 0.5) * 2 ** Math.floor(random() * 80)))
}
for (let i = 0; i < 100; ) {
  for (let b = 0; b < 8; b++) view.setUint8(b, Math.floor(random() * 256))
  const n = view.getFloat64(0)
  if (Number.isFinite(n)) numbers.push(n), i++
}

const strings = ['', 'é', '\u2028\u2029', '<&>\'"/\\', '\ufffd', '\ufeff', '😀', '\u00a0\u0085\u007f']
for (let c = 0; c < 0x100; c++) strings.push(String.fromCodePoint(c))
for (let i = 0; i < 100; i++) {
  let s = ''
  for (let n = random() * 8; n > 0; n--) {
    const c = Math.floor(random() * [0x80, 0x3000, 0x110000][Math.floor(random() * 3)])
    if (c < 0xd800 || c > 0xdfff) s += String.fromCodePoint(c)
  }
  strings.push(s)
}

console.log(JSON.stringify({
  numbers: numbers.map((n) => [hex(n), JSON.stringify(n)]),
  strings: strings.map((s) => [[...s].map((c) => c.codePointAt(0)), JSON.stringify(s)]),
}))
