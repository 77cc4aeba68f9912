// Package jsonscan reads JSON text.
//
// A Scanner checks a text that arrives in pieces and reports after each piece
// whether it is complete. A Cursor visits the members of an object or the
// elements of an array inside a text that is known to be valid, in place and
// without allocating. All functions are linear in their input.
package jsonscan
