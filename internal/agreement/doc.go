// Package agreement has no code: its test compares what the generated JSON Schema,
// the decoder and the generated TypeScript declarations say of random values of
// random Go types.
package agreement
