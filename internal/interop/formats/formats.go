// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package formats lists the formats that tapes are written in and read from. docs/formats.md is generated from the list.
package formats

import (
	"fmt"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/interop/atif"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/interop/otlp"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/interop/whatifd"
)

// All lists the formats in the order of the documentation.
var All = []*interop.Format{
	waza.Format,
	aiwg.Format,
	atif.Format,
	chat.Format,
	whatifd.Format,
	otlp.Format,
}

// ByName returns a format of the list.
func ByName(name string) (*interop.Format, error) {
	for _, f := range All {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format %q, known: %s", name, strings.Join(Names(func(*interop.Format) bool { return true }), ", "))
}

// Names lists the formats that a condition holds for.
func Names(wanted func(*interop.Format) bool) []string {
	var names []string
	for _, f := range All {
		if wanted(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Beside lists the formats that may lie beside a tape.json.
func Beside() []string { return Names(func(f *interop.Format) bool { return f.Beside }) }

// Detect returns the format that can be read and that data claims to be of, nil if none.
func Detect(data []byte) *interop.Format {
	for _, f := range All {
		if f.Decode != nil && f.Detect != nil && f.Detect(data) {
			return f
		}
	}
	return nil
}
