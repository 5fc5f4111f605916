// Package jsjson encodes Go values as the JSON text that JSON.stringify makes
// of the same value in JavaScript.
//
// The rules for struct tags, embedded structs, omitempty, omitzero and the
// methods of types are those of encoding/json. Unlike that package
//
//   - the text is the same with every Go version;
//   - strings have the escapes of JavaScript and no others, and negative zero is 0;
//   - methods with pointer receivers are called wherever the value is, also in a
//     result that is passed by value, in a map and in an interface;
//   - what another program or JavaScript would read as another value is an error:
//     invalid UTF-8, integers that a float64 does not hold, two equal map keys,
//     fields that an embedded type hides;
//   - errors name the place of the value: $.items[3].id;
//   - a panic of a method is an error.
//
// Each type is looked at once, and the plan of how to encode it is kept.
package jsjson
