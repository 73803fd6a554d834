// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"net/url"
	"slices"
)

// Tags are what a scan has found. Tags of the pieces of a run, merged in any order, are those of the run.
type Tags struct {
	IDs       []string // distinct, sorted
	Of        []string // distinct, sorted
	Malformed bool
	Marked    bool
}

// Replay tells whether a tag or marker is among them.
func (t Tags) Replay() bool { return len(t.IDs) > 0 || t.Malformed || t.Marked }

// IsEmpty tells whether nothing was found.
func (t Tags) IsEmpty() bool { return !t.Replay() && len(t.Of) == 0 }

// Verdict is the decision on a run that has these tags and no other.
func (t Tags) Verdict() Verdict {
	v := Verdict{Replay: t.Replay(), Conflicting: len(t.IDs) > 1, Malformed: t.Malformed}
	switch {
	case len(t.IDs) > 0:
		v.ID = t.IDs[0]
	case v.Replay:
		v.ID = Unnamed
	}
	switch {
	case !v.Replay:
	case len(t.Of) > 0:
		v.Of = t.Of[0]
	default:
		v.Of = namedIn.FindString(v.ID)
	}
	return v
}

// Merge adds other tags.
func (t *Tags) Merge(other Tags) {
	for _, id := range other.IDs {
		t.IDs = insert(t.IDs, id)
	}
	for _, id := range other.Of {
		t.Of = insert(t.Of, id)
	}
	t.Malformed = t.Malformed || other.Malformed
	t.Marked = t.Marked || other.Marked
}

// Without returns the tags that other does not have.
func (t Tags) Without(other Tags) Tags {
	less := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(other, id) })
	}
	return Tags{less(t.IDs, other.IDs), less(t.Of, other.Of), t.Malformed && !other.Malformed, t.Marked && !other.Marked}
}

// The names of tags in their text and in notes. They do not depend on rules.
const (
	malformedKey = "replay_malformed"
	markedKey    = "replay_marked"
)

// String is the text of a hand-over (handover.RunReplay): a URL query, the same for the same tags.
func (t Tags) String() string {
	q := url.Values{}
	for _, id := range t.IDs {
		q.Add(Key, id)
	}
	for _, id := range t.Of {
		q.Add(OfKey, id)
	}
	if t.Malformed {
		q.Set(malformedKey, "true")
	}
	if t.Marked {
		q.Set(markedKey, "true")
	}
	return q.Encode()
}

// ParseTags reads what String wrote. Any other text that is not empty becomes a malformed tag: in doubt it is a replay.
func ParseTags(text string) (t Tags) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return Tags{Malformed: true}
	}
	for key, values := range q {
		for _, value := range values {
			switch ok := validID(value); {
			case key == Key && ok:
				t.IDs = insert(t.IDs, value)
			case key == OfKey && ok:
				t.Of = insert(t.Of, value)
			case key == markedKey:
				t.Marked = true
			default:
				t.Malformed = true
			}
		}
	}
	return t
}
