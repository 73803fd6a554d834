// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// Quirks is a set of what the producer of an item is known to do. Dialects set it from scope, version and
// shape.
type Quirks uint32

// The quirks. A Hook puts right most of them.
const (
	// OmitsArgs: {} stands for the arguments of a streamed call, whatever they were.
	OmitsArgs Quirks = 1 << iota
	// LendsStatus: the failure in the status of a span is that of another span.
	LendsStatus
	// EchoesModel: the model that answered stands as the model that was asked for.
	EchoesModel
	// DefaultsModel: a default stands as the model that was asked for where the producer does not know it.
	DefaultsModel
	// CutsModelID: the vendor and the region are cut off the id of the model.
	CutsModelID
	// AppendsNone: the text of an answer ends in "None" for each part without a text.
	AppendsNone
	// EmptiesFalsy: an empty object stands for every value that Python takes for false.
	EmptiesFalsy
	// RoundsIntegers: integers may have been rounded to doubles.
	RoundsIntegers
	// NamesEmpty: a text stands for an empty value of a log record.
	NamesEmpty
)

// Has reports whether the set holds one of the quirks.
func (q Quirks) Has(one Quirks) bool { return q&one != 0 }

// Hook is a step that puts right what producers with a quirk write. It runs on the items of these producers
// alone.
type Hook struct {
	Quirk Quirks
	// Last says that the hook runs after every other step. Else it runs before texts are opened.
	Last bool
	Run  func(s *Source, o *Observation)
}
