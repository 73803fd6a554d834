// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"unsafe"

	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ID returns the id of the message in the pool: "m" and the first 32 hex digits of the SHA-256 of its canonical form.
func (m Message) ID() string { return poolID('m', messageRecord, &m) }

// ID returns the id of the tool definition in the pool: "t" and the first 32 hex digits of the SHA-256 of its canonical form.
func (t Tool) ID() string { return poolID('t', toolRecord, &t) }

func poolID[T any](letter byte, record *bind.Record[T], t *T) string {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	text, err := record.AppendCanonical((*buf)[:0], t)
	if err != nil { // a number out of range: there is no canonical form
		text = record.AppendJSON(text[:0], t)
	}
	*buf = text
	sum := sha256.Sum256(text)
	id := [1 + 32]byte{letter}
	hex.Encode(id[1:], sum[:16])
	return string(id[:])
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// emptyArgs is the canonical form that stands for arguments that are empty, blank or null.
var emptyArgs = exactjson.ObjectValue()

// ArgsHash identifies the arguments of a tool call: "sha256:" and the hex digest of their canonical form. Null and blank text count
// as {}. A string value is text that is not JSON and gives "sha256-raw:" over its bytes, and so does the compact text of a value
// with a number out of range. Arguments that are absent have no hash: "".
func ArgsHash(args exactjson.Value) string {
	switch {
	case args.IsAbsent():
		return ""
	case args.Kind() == exactjson.Null, args.Kind() == exactjson.String && strings.Trim(args.Text(), " \t\r\n") == "":
		return emptyArgs.Digest()
	case args.Kind() == exactjson.String:
		return exactjson.RawDigest(args.Text())
	default:
		return args.Digest()
	}
}

// ArgsTextHash is ArgsHash of the arguments as a provider spelled them. Text that exactjson.Parse refuses, such as an object with
// duplicate names, is hashed as text.
func ArgsTextHash(text string) string {
	if hash := canonicalTextHash(text); hash != "" {
		return hash
	}
	if args, err := exactjson.Parse(text); err == nil {
		return ArgsHash(args)
	}
	return ArgsHash(exactjson.StringValue(text))
}

// canonicalTextHash hashes an array or object without building it, "" where that cannot be done.
func canonicalTextHash(text string) string {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	canonical, ok := exactjson.AppendCanonicalText((*buf)[:0], text)
	*buf = canonical
	if !ok {
		return ""
	}
	sum := sha256.Sum256(canonical)
	const prefix = "sha256:"
	return string(hex.AppendEncode(append(make([]byte, 0, len(prefix)+2*len(sum)), prefix...), sum[:]))
}

// The formats of an oracle's response string.
const (
	FormatText = "text" // the result was a string and is the response
	FormatJSON = "json" // the response is the canonical form of the result
)

// OracleResponse returns the string that an oracle answers with for a result, and its format. A value with a number out of range
// stands as its compact text.
func OracleResponse(result exactjson.Value) (response, format string) {
	if result.Kind() == exactjson.String {
		return result.Text(), FormatText
	}
	response, err := result.Canonical()
	if err != nil {
		response = result.JSON()
	}
	return response, FormatJSON
}

// ResultSHA256 returns the hex SHA-256 of the response string of a result, "" when the result is absent.
func ResultSHA256(result exactjson.Value) string {
	if result.IsAbsent() {
		return ""
	}
	response, _ := OracleResponse(result)
	return textSHA256(response)
}

func textSHA256(text string) string {
	return bytesSHA256(unsafe.Slice(unsafe.StringData(text), len(text))) // read only; results can be megabytes
}

func bytesSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	var digits [2 * len(sum)]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}

// Answer returns what an oracle answers for a tool call: the result, or the error message of a failed call that has no result. ok is false
// when the tape holds neither. The agent's loop puts words before the error of a failed call. The answer leaves them out, because the loop
// of the replay puts them there again.
func (e *Event) Answer() (response, format string, ok bool) {
	failed := e.Status == EventError && e.Error != nil && e.Error.Message != ""
	switch {
	case failed && (e.Result.IsAbsent() || e.Result.Str() == "Error executing tool "+e.Name+": "+e.Error.Message):
		return e.Error.Message, FormatText, true
	case !e.Result.IsAbsent():
		response, format = OracleResponse(e.Result)
		return response, format, true
	default:
		return "", "", false
	}
}

// AnswerSHA256 returns the hex SHA-256 of the oracle's response string for a call with a result, else "".
func (e *Event) AnswerSHA256() string {
	if e.Result.IsAbsent() {
		return ""
	}
	response, _, _ := e.Answer()
	return textSHA256(response)
}
