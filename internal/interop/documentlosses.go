// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"strconv"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// DocumentLosses compares a document that was read with the one that came back out of a tape. It lists every member that is gone, new or
// different, in document order. When all values agree and only their order, spelling or white space differs, it lists Layout. reason
// explains a difference at a path; "" stands for a general one.
func DocumentLosses(before, after []byte, reason func(path string, what What) string) ([]Loss, error) {
	if string(before) == string(after) {
		return nil, nil
	}
	c := comparison{reason: reason}
	b, err := exactjson.ParseWithin(string(before), tape.MaxDepth, tape.MaxValues)
	if err != nil {
		return nil, err
	}
	a, err := exactjson.ParseWithin(string(after), tape.MaxDepth, tape.MaxValues)
	if err != nil {
		return nil, err
	}
	c.values("", b, a)
	if len(c.losses) == 0 {
		c.add("", Layout)
	}
	return c.losses, nil
}

type comparison struct {
	reason func(path string, what What) string
	losses []Loss
}

var generalReasons = map[What]string{
	Dropped: "a tape has no place for it",
	Changed: "it is written in its usual form",
	Added:   "it is always written",
	Layout:  "white space, the order of members or the spelling of a value is not the usual one",
}

func (c *comparison) add(path string, what What) {
	reason := ""
	if c.reason != nil {
		reason = c.reason(path, what)
	}
	if reason == "" {
		reason = generalReasons[what]
	}
	c.losses = append(c.losses, Loss{path, what, reason})
}

func (c *comparison) values(path string, before, after exactjson.Value) {
	switch {
	case before.Kind() != after.Kind():
		c.add(path, Changed)
	case before.Kind() == exactjson.Object:
		old, now := byName(before), byName(after)
		for _, m := range before.Members() {
			if other, there := now[m.Name]; there {
				c.values(Join(path, m.Name), m.Value, other)
			} else {
				c.add(Join(path, m.Name), Dropped)
			}
		}
		for _, m := range after.Members() {
			if _, there := old[m.Name]; !there {
				c.add(Join(path, m.Name), Added)
			}
		}
	case before.Kind() == exactjson.Array:
		for i := range max(before.Len(), after.Len()) {
			at := Join(path, strconv.Itoa(i))
			switch {
			case i >= after.Len():
				c.add(at, Dropped)
			case i >= before.Len():
				c.add(at, Added)
			default:
				c.values(at, before.At(i), after.At(i))
			}
		}
	case !before.Equal(after):
		c.add(path, Changed)
	}
}

// byName indexes an object: the pools of a tape have thousands of members.
func byName(object exactjson.Value) map[string]exactjson.Value {
	index := make(map[string]exactjson.Value, object.Len())
	for _, m := range object.Members() {
		index[m.Name] = m.Value
	}
	return index
}

// Join puts a name behind a dotted path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
