// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Near is a recorded call that resembles one that was missed. It tells what differs without telling values.
type Near struct {
	Index int // of the entry in the file, from 0
	Entry *Entry
	// Used says that the entry has been taken in the session.
	Used bool
	// Differences is how many values of the arguments differ, -1 when the arguments of one side are not known. Diff lists the first of
	// them.
	Differences int
	Diff        []Difference
}

// Difference is one value that differs. Recorded and Live tell kind and length, never the value. A name that was never recorded is told by
// its length, because it may be a secret too.
type Difference struct {
	Path     string // JSONPath, as rules take it
	Recorded string // "absent" where only the live call has it
	Live     string
}

// Bounds of what a miss reports.
const (
	maxNear      = 3
	maxDiff      = 16
	maxCompared  = 256 // entries
	maxCompareIn = 1 << 16
)

// Nearest returns the recorded calls that resemble the query most. These are the calls of the tool, by the number of values that differ. If
// the tool has none, they are calls of other tools with the same arguments.
func (s *Session) Nearest(q Query) []Near {
	q.complete(s.oracle)
	q.read()
	o := s.oracle
	var near []Near
	if t := o.tools[q.ToolName]; t != nil {
		for _, i := range t.entries[:min(len(t.entries), maxCompared)] {
			e := &o.entries[i]
			n := Near{Index: i, Entry: e, Differences: -1}
			switch {
			case e.ArgsHash == q.ArgsHash && q.ArgsHash != "":
				n.Differences = 0
			case !e.Args.IsAbsent() && !q.Args.IsAbsent():
				n.Diff, n.Differences = diff(e.Args, q.Args)
			}
			near = append(near, n)
		}
	} else {
		for i := range o.entries {
			if e := &o.entries[i]; e.ArgsHash == q.ArgsHash && q.ArgsHash != "" {
				near = append(near, Near{Index: i, Entry: e})
			}
		}
	}
	s.mu.Lock()
	for i := range near {
		near[i].Used = s.state.isUsed(near[i].Index)
	}
	s.mu.Unlock()
	slices.SortStableFunc(near, func(a, b Near) int {
		return cmp.Or(
			cmp.Compare(uint(a.Differences), uint(b.Differences)), // unknown, which is -1, last
			compareBool(a.Entry.Caller != q.Caller, b.Entry.Caller != q.Caller),
			compareBool(a.Used, b.Used),
		)
	})
	return near[:min(len(near), maxNear)]
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (s *state) isUsed(index int) bool {
	slot := s.oracle.slotOf[index]
	return slot >= 0 && s.used[slot]
}

// diff lists the first differences and counts all.
func diff(recorded, live exactjson.Value) ([]Difference, int) {
	d := comparison{left: maxCompareIn}
	d.compare("$", recorded, live)
	return d.found, d.count
}

type comparison struct {
	found []Difference
	count int
	left  int // values that may still be looked at
}

func (d *comparison) add(path string, recorded, live exactjson.Value) {
	d.count += max(leaves(recorded), leaves(live))
	if len(d.found) < maxDiff {
		d.found = append(d.found, Difference{path, describe(recorded), describe(live)})
	}
}

func (d *comparison) compare(path string, recorded, live exactjson.Value) {
	if d.left--; d.left < 0 {
		return
	}
	switch {
	case recorded.Kind() != live.Kind():
		d.add(path, recorded, live)
	case recorded.Kind() == exactjson.Object:
		for _, m := range recorded.Members() {
			d.compare(jsonpath.AppendMember(path, m.Name), m.Value, live.Get(m.Name))
		}
		for _, m := range live.Members() {
			if recorded.Get(m.Name).IsAbsent() {
				d.add(path+"[name of "+strconv.Itoa(len(m.Name))+" bytes]", exactjson.Value{}, m.Value)
			}
		}
	case recorded.Kind() == exactjson.Array:
		for i := range max(recorded.Len(), live.Len()) {
			d.compare(jsonpath.AppendElement(path, i), recorded.At(i), live.At(i))
		}
	case !recorded.Equal(live):
		d.add(path, recorded, live)
	}
}

// leaves counts the values that are no arrays and objects.
func leaves(v exactjson.Value) int {
	if v.Len() == 0 {
		return 1
	}
	n := 0
	for _, m := range v.Members() {
		n += leaves(m.Value)
	}
	return n
}

// describe tells the kind of a value and how long it is.
func describe(v exactjson.Value) string {
	switch v.Kind() {
	case exactjson.Absent:
		return "absent"
	case exactjson.Null:
		return "null"
	case exactjson.Bool:
		return v.Text()
	case exactjson.Number:
		return "number"
	case exactjson.String:
		if tokenIn(v.Text(), true) {
			return "redacted text"
		}
		return "text of " + strconv.Itoa(len(v.Text())) + " bytes"
	case exactjson.Array:
		return "array of " + strconv.Itoa(v.Len())
	default:
		return "object of " + strconv.Itoa(v.Len())
	}
}
