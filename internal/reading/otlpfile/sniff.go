// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// form is how documents lie in an input. A form that cannot be read is its own explanation.
type form string

const (
	formJSON   form = "JSON"
	formFrames form = "frames" // each document behind its length, 4 bytes, big endian
	formProto  form = "protobuf"
)

var bom = []byte("\xef\xbb\xbf")

// sniff tells the form from the first bytes of the plain input.
//
// A protobuf request starts with 0x0a, which is also a newline. What follows tells it from white space before JSON. A length prefix
// starts with the highest byte of the length: 0x00 to 0x09 up to 160 MiB. A first message between 160 and 176 MiB would look like a
// bare request and is refused.
func sniff(head []byte) form {
	if looksJSON(head) {
		return formJSON
	}
	switch c := head[0]; {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")), len(head) > 3 && head[0] == '{' && head[1] == 0:
		return "text in UTF-16; convert it to UTF-8"
	case c == 0x0a:
		if len(bytes.TrimLeft(head, " \t\r\n")) == 0 {
			return formJSON
		}
		return formProto
	case c < 0x20 && c != '\t' && c != '\r' && len(head) >= 4:
		return formFrames
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip archive; unpack it"
	case bytes.HasPrefix(head, []byte("PAR1")):
		return "a Parquet file"
	case printable(head):
		return formJSON // text: the reader reports line by line what is no document
	default:
		return "neither JSON nor protobuf"
	}
}

// looksJSON reports an object or array of telemetry behind optional white space.
func looksJSON(head []byte) bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	if len(rest) == 0 {
		return false
	}
	switch rest[0] {
	case '{':
		inner := bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(inner) == 0 {
			return head[0] != 0x0a
		}
		if inner[0] == '}' {
			return true
		}
		return inner[0] == '"' && (len(inner) == 1 || inner[1] >= 0x20)
	case '[':
		inner := bytes.TrimLeft(rest[1:], " \t\r\n")
		return len(inner) == 0 || inner[0] == '{' || inner[0] == ']'
	}
	return false
}

// printable reports UTF-8 text; a character may be cut at the end.
func printable(head []byte) bool {
	if cut := len(head); !utf8.Valid(head) && (cut < 4 || !utf8.Valid(head[:cut-1]) && !utf8.Valid(head[:cut-2]) && !utf8.Valid(head[:cut-3])) {
		return false
	}
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\r' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return true
}

// Tells reports whether a plain file with this beginning looks like telemetry that Read takes, traces or
// logs. It is for choosing files of a folder, where most others are not telemetry.
func Tells(head []byte) bool {
	if looksJSON(head) {
		rest := bytes.TrimLeft(bytes.TrimPrefix(head, bom), "[ \t\r\n")
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("{")), " \t\r\n")
		for name, d := range documents {
			if d.field != nil && bytes.HasPrefix(rest, []byte(`"`+name+`"`)) {
				return true
			}
		}
		return bytes.HasPrefix(rest, []byte(`"ts":"`)) && bytes.Contains(head, []byte(`"schema_version"`))
	}
	const prefix = 4
	if len(head) > prefix && sniff(head) == formFrames {
		message := head[prefix:]
		return bytes.HasPrefix(message, zstdMagic) || bytes.HasPrefix(message, gzipMagic) || looksJSON(message) && Tells(message) || looksProto(message)
	}
	return looksProto(head)
}

// looksProto reports a request whose first member begins with one of its three fields: resource, scopes,
// schema.
func looksProto(head []byte) bool {
	if len(head) == 0 || head[0] != 0x0a {
		return false
	}
	size, n := binary.Uvarint(head[1:])
	if n <= 0 || size == 0 || len(head) <= 1+n {
		return false
	}
	inner := head[1+n:]
	length, m := binary.Uvarint(inner[1:])
	return (inner[0] == 0x0a || inner[0] == 0x12 || inner[0] == 0x1a) && m > 0 && length < size
}
