// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/formats"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The formats that every deck knows. The others are those of package formats that may lie beside a tape.
const (
	FormatTape   = "tape"
	FormatOracle = "oracle"
)

// DefaultFormats is what is written when nothing else is asked for.
var DefaultFormats = []string{FormatTape, FormatOracle}

// KnownFormats lists what Options.Formats may hold.
func KnownFormats() []string { return append(slices.Clone(DefaultFormats), formats.Beside()...) }

// Files seals a tape and renders it with the files that lie beside it, tape.json last. The tape holds the
// digests of these files. A format that cannot hold the run is left out, and the tape says so. The bodies may
// lie in text, which is returned with its new size; nil allocates one.
func Files(text []byte, t *tape.Tape, names []string) ([]deck.File, []byte, error) {
	var files []deck.File
	var digests, leftOut []exactjson.Member
	add := func(name, contentType string, body []byte) {
		files = append(files, deck.File{Name: name, Body: body, ContentType: contentType})
		digests = append(digests, exactjson.Member{Name: name, Value: exactjson.StringValue(tape.FileDigest(body))})
	}
	render := func(render func([]byte) []byte) []byte {
		start := len(text)
		text = render(text)
		return text[start:len(text):len(text)]
	}
	entries := sync.OnceValue(func() []oracle.Entry { return oracle.FromTape(t) })
	for _, name := range slices.Sorted(slices.Values(names)) {
		switch name {
		case FormatTape:
		case FormatOracle:
			add(tape.OracleFile, applicationJSON, render(func(dst []byte) []byte { return oracle.Append(dst, entries()) }))
		default:
			f, err := formats.ByName(name)
			if err != nil {
				return nil, text, err
			}
			body, _, err := f.Encode(t, entries(), interop.Options{NoLosses: true})
			if err != nil {
				leftOut = append(leftOut, exactjson.Member{Name: name, Value: exactjson.StringValue(err.Error())})
				continue
			}
			add(f.NameBeside(t), f.ContentType, body)
		}
	}
	slices.SortFunc(digests, func(a, b exactjson.Member) int { return strings.Compare(a.Name, b.Name) })
	setOwn(t, "files", digests)
	setOwn(t, "left_out", leftOut)
	if err := t.Seal(); err != nil {
		return nil, text, fmt.Errorf("seal tape: %w", err)
	}
	files = append(files, deck.File{Name: tape.TapeFile, Body: render(t.AppendJSON), ContentType: applicationJSON})
	return files, text, nil
}

// Beside makes the files that lie beside a tape of a reel, from the tape and the columns formats and files.
func Beside(body []byte, formats, names []string) ([]deck.File, error) {
	t, err := tape.Read(body)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(formats, FormatOracle) && slices.Contains(names, deck.OracleFile) {
		formats = append(slices.Clone(formats), FormatOracle)
	}
	files, _, err := Files(nil, t, formats)
	return files, err
}

const applicationJSON = "application/json"

// setOwn sets a member of extensions.tapedeck, or removes it when it is empty.
func setOwn(t *tape.Tape, name string, members []exactjson.Member) {
	const namespace = "tapedeck"
	set := func(object exactjson.Value, name string, value exactjson.Value) exactjson.Value {
		kept := slices.DeleteFunc(slices.Clone(object.Members()), func(m exactjson.Member) bool { return m.Name == name })
		if !value.IsEmpty() {
			kept = append(kept, exactjson.Member{Name: name, Value: value})
		}
		return exactjson.ObjectValue(kept...)
	}
	own := set(t.Extensions.Get(namespace), name, exactjson.ObjectValue(members...))
	if t.Extensions = set(t.Extensions, namespace, own); t.Extensions.IsEmpty() {
		t.Extensions = exactjson.Value{}
	}
}
