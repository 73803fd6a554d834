// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strconv"
	"strings"
)

// Report counts what a walk has seen and replaced. The zero value counts; it is not safe for concurrent use.
type Report struct {
	Leaves  int64            // strings and numbers that were searched, those inside of JSON each by itself
	Bytes   int64            // their size; a string of JSON counts again for each level
	Numbers int64            // numbers that became tokens
	Hits    map[string]int64 // replaced values by rule

	found   int64 // hits so far
	located bool
	places  []Hit
}

// Hit is a place where a rule finds something. It never holds the value.
type Hit struct {
	Path string `json:"path"` // such as spans[2].attributes["gen_ai.input.messages"][0].parts[1].text
	Rule string `json:"rule"`
}

// Total is the number of replaced values.
func (r *Report) Total() (n int64) {
	for _, c := range r.Hits {
		n += c
	}
	return n
}

// Add adds what another report has counted.
func (r *Report) Add(other *Report) {
	r.Leaves += other.Leaves
	r.Bytes += other.Bytes
	r.Numbers += other.Numbers
	r.countHits(other)
	r.places = append(r.places, other.places...)
}

// countHits adds the replaced values that another report has counted.
func (r *Report) countHits(other *Report) {
	for rule, n := range other.Hits {
		r.count(rule, n)
	}
}

func (r *Report) count(rule string, n int64) {
	if r.Hits == nil {
		r.Hits = map[string]int64{}
	}
	r.Hits[rule] += n
}

func (r *Report) hit(rule string, at path) {
	r.count(rule, 1)
	r.found++
	if r.located {
		r.places = append(r.places, Hit{Path: at.String(), Rule: rule})
	}
}

// path is where a value stands. Its steps are kept as they are met and written only when somebody asks.
type path []step

type step struct {
	name  string
	index int // of an array: the current element
	array bool
	field bool // a field of the signal, not a name that a sender chose
}

func (p path) lastName() string {
	for i := len(p) - 1; i >= 0; i-- {
		if !p[i].array && p[i].name != "" {
			return p[i].name
		}
	}
	return ""
}

// String writes a path. Names that a sender chose are quoted when they are no plain words, and cut. A name can be a secret too. A
// name that a rule hits is replaced, so its path cannot show it.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.array:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case s.name == "":
		case s.field || plainName(s.name):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		default:
			b.WriteByte('[')
			b.WriteString(strconv.Quote(s.name))
			b.WriteByte(']')
		}
	}
	return b.String()
}

func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isWord(c) {
			return false
		}
	}
	return name != ""
}
