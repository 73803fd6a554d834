// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package generation derives the tapes of a trace from its parts, and makes the files and the rows of a
// generation. It is a function of the evidence and of its options: it reads no deck and writes none. Whatever
// writes or reads a deck calls it, so all of them make the same bytes.
package generation

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Deriver derives by one set of options. It is safe for concurrent use.
type Deriver struct {
	Options // with all defaults filled in
	// Enter is called before each stage of a derivation; nil but in tests.
	Enter    func(stage string)
	producer []byte // identifies a generation beside its parts
}

// The stages at which a derivation may meet evidence that it cannot take.
const (
	StageUnite       = "unite"
	StageReconstruct = "reconstruct"
	StageRender      = "render"
)

// Stage reports that a stage begins.
func (d *Deriver) Stage(stage string) {
	if d.Enter != nil {
		d.Enter(stage)
	}
}

// New returns a Deriver.
func New(o Options) *Deriver {
	if len(o.Formats) == 0 {
		o.Formats = DefaultFormats
	}
	o.Formats = slices.Compact(slices.Sorted(slices.Values(o.Formats)))
	if o.Replay == nil {
		o.Replay = segregation.Default
	}
	o.Revision = cmp.Or(o.Revision, Revision)
	o.Bounds = Bounds{cmp.Or(o.Bounds.Bytes, DefaultBounds.Bytes), cmp.Or(o.Bounds.Items, DefaultBounds.Items), cmp.Or(o.Bounds.Parts, DefaultBounds.Parts)}
	members := []exactjson.Member{{Name: "formats", Value: texts(o.Formats)}}
	if b := o.Bounds; b != DefaultBounds {
		members = append(members, exactjson.Member{Name: "bounds", Value: exactjson.ArrayValue(
			exactjson.IntValue(b.Bytes), exactjson.IntValue(int64(b.Items)), exactjson.IntValue(int64(b.Parts)))})
	}
	if o.Replay.Custom() {
		members = append(members, exactjson.Member{Name: "replay", Value: exactjson.StringValue(o.Replay.String())})
	}
	config := exactjson.ObjectValue(members...)
	o.Producer.ConfigDigest = config.Digest()
	producer, err := json.Marshal([]string{o.Producer.Name, o.Producer.Version, o.Producer.ConfigDigest})
	if err != nil {
		panic(err) // three strings
	}
	return &Deriver{Options: o, producer: producer}
}

func texts(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return exactjson.ArrayValue(values...)
}

// Name names the generation of all tapes that are made of parts.
func (d *Deriver) Name(items int, parts []string) deck.Generation {
	return d.name(items, parts, d.producer)
}

// NameWithoutJoined names the generation that lacks the runs of a trace which a joined tape holds.
func (d *Deriver) NameWithoutJoined(items int, parts []string) deck.Generation {
	return d.name(items, parts, append(slices.Clone(d.producer), "joined"...))
}

func (d *Deriver) name(items int, parts []string, producer []byte) deck.Generation {
	g := deck.NewGeneration(items, parts, producer)
	g.Revision = d.Revision
	return g
}

// Makes reports whether d gives a generation made of these parts the same name. Then d makes the same tapes.
func (d *Deriver) Makes(g deck.Generation, parts []string) bool { return d.Name(g.Items, parts) == g }
