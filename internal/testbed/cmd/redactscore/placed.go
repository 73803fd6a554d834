// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/fnv"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact"
)

// placed scores every kind in every place.
type placed struct {
	kinds, places map[string]*tally
	order         []string
	all, unsplit  tally
	popular       tally // not split
	broken, gate  int
	missed        map[string][]string // by kind: the places
	wrong         []string
}

type tally struct{ cases, found int }

func (t *tally) add(ok bool) {
	t.cases++
	if ok {
		t.found++
	}
}

func (t tally) rate() float64 { return float64(t.found) / float64(max(t.cases, 1)) }

func newTraces() ptrace.Traces {
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("call")
	return td
}

// scorePlaces redacts one value of every kind in every place and looks for it again, also with the gate.
// Values that have no form of their own and stand without a name are not claimed.
func scorePlaces(seed uint64, r, gate *redact.Redactor, of set) *placed {
	p := &placed{kinds: map[string]*tally{}, places: map[string]*tally{}, missed: map[string][]string{}}
	for _, k := range kindsOf() {
		if k.set() != of {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(k.name))
		g := newGenerator(seed ^ h.Sum64())
		p.kinds[k.name] = &tally{}
		for _, at := range k.places() {
			if p.places[at.name] == nil {
				p.places[at.name] = &tally{}
				p.order = append(p.order, at.name)
			}
			td := newTraces()
			v := k.value(g)
			needles := at.put(g, td, &k, v)
			if at.bare && !k.form && k.text == "" {
				continue
			}
			before := jsonStrings(td)
			r.Traces(td, nil)
			left := leftIn(td, needles)
			p.kinds[k.name].add(!left)
			p.places[at.name].add(!left)
			p.all.add(!left)
			if left {
				p.missed[k.name] = append(p.missed[k.name], at.name)
			}
			if !strings.HasPrefix(at.name, "split") {
				p.unsplit.add(!left)
				if k.popular {
					p.popular.add(!left)
				}
			}
			if jsonStrings(td) != before {
				p.broken++
				left = true
			}
			caught := len(gate.ScanTraces(td)) > 0
			if caught {
				p.gate++
			}
			if left || caught {
				raw, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
				p.wrong = append(p.wrong, fmt.Sprintf("%s\t%s\tgate %v\t%q\n\t%.600s", k.name, at.name, caught, v, raw))
			}
		}
	}
	return p
}
