// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Reason says why what lies at a path, and below it, is lost. A "*" in the path stands for any one name.
type Reason struct {
	Path, Reason string
}

func (r Reason) covers(path []string) bool {
	pattern := strings.Split(r.Path, ".")
	if len(pattern) > len(path) {
		return false
	}
	for i, name := range pattern {
		if name != "*" && name != path[i] {
			return false
		}
	}
	return true
}

// TapeLosses compares a tape that was written in a format with the one that was read from it. kept are the indices, in before, of the
// events of after, in their order. The other events are lost, for the reason dropped. Differences that one reason covers are one loss.
// Its path is that of the reason, with the last "*" filled in where it names a member. The members that a tape holds about itself
// (tape_id, producer, extensions.tapedeck) are not compared.
func TapeLosses(before, after *tape.Tape, kept []int, dropped string, reasons []Reason) ([]Loss, error) {
	b, err := parsed(before)
	if err != nil {
		return nil, err
	}
	a, err := parsed(after)
	if err != nil {
		return nil, err
	}
	l := tapeLosses{kept: kept, reasons: reasons, seen: map[Loss]bool{}}
	for _, m := range b.Members() {
		switch m.Name {
		case "events":
			l.events(m.Value, a.Get("events"), dropped)
		default:
			l.compare(m.Name, m.Value, a.Get(m.Name))
		}
	}
	for _, m := range a.Members() {
		if b.Get(m.Name).IsAbsent() {
			l.compare(m.Name, exactjson.Value{}, m.Value)
		}
	}
	return l.losses, nil
}

// parsed is the tape as JSON, without what it says of itself.
func parsed(t *tape.Tape) (exactjson.Value, error) {
	v, err := exactjson.ParseWithin(string(t.AppendJSON(nil)), tape.MaxDepth, tape.MaxValues)
	if err != nil {
		return v, err
	}
	members := drop(v, "tape_id", "producer")
	for i, m := range members {
		if m.Name == "extensions" {
			members[i].Value = exactjson.ObjectValue(drop(m.Value, "tapedeck")...)
		}
	}
	return exactjson.ObjectValue(slices.DeleteFunc(members, func(m exactjson.Member) bool { return m.Name == "extensions" && m.Value.Len() == 0 })...), nil
}

func drop(object exactjson.Value, names ...string) []exactjson.Member {
	return slices.DeleteFunc(slices.Clone(object.Members()), func(m exactjson.Member) bool { return slices.Contains(names, m.Name) })
}

type tapeLosses struct {
	kept    []int
	reasons []Reason
	seen    map[Loss]bool
	losses  []Loss
}

func (l *tapeLosses) compare(path string, before, after exactjson.Value) {
	var c comparison
	switch {
	case before.IsAbsent():
		c.add(path, Added)
	case after.IsAbsent():
		c.add(path, Dropped)
	default:
		c.values(path, before, after)
	}
	for _, loss := range c.losses {
		l.add(loss)
	}
}

func (l *tapeLosses) events(before, after exactjson.Value, dropped string) {
	index := map[int]int{}
	for n, i := range l.kept {
		index[i] = n
	}
	for i := range before.Len() {
		at := "events." + strconv.Itoa(i)
		if n, isKept := index[i]; isKept {
			l.compare(at, before.At(i), after.At(n))
		} else {
			l.losses = append(l.losses, Loss{at, Dropped, dropped})
		}
	}
	for i := len(l.kept); i < after.Len(); i++ {
		l.losses = append(l.losses, Loss{"events", Added, "an event that the tape does not hold"})
	}
}

// add puts a difference under its reason.
func (l *tapeLosses) add(loss Loss) {
	path := strings.Split(loss.Path, ".")
	for _, r := range l.reasons {
		if !r.covers(path) {
			continue
		}
		pattern := strings.Split(r.Path, ".")
		if len(path) > len(pattern) {
			loss.What = Changed // something below it is gone, new or different
		}
		// events.*.caller stands for all events; in run.* the name matters.
		if last := len(pattern) - 1; pattern[last] == "*" {
			pattern[last] = path[last]
		}
		loss.Path, loss.Reason = strings.Join(pattern, "."), r.Reason
		break
	}
	if !l.seen[loss] {
		l.seen[loss] = true
		l.losses = append(l.losses, loss)
	}
}
