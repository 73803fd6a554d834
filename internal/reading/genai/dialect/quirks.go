// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// Quirks is a set of what the producer of an item is known to do. Dialects set it from scope, version and
// shape.
type Quirks uint32

// The quirks. Rebuilding a run takes the first group into account. Reading an item puts the second group
// right, most of it by a Hook.
const (
	// OmitsSystem: the instructions, or some of them, are left out of the messages.
	OmitsSystem Quirks = 1 << iota
	// OmitsCalls: of an answer with a text, the text alone is recorded.
	OmitsCalls
	// AnswersWhole: the arguments of a tool that stands for structured output are the whole answer, without
	// an envelope.
	AnswersWhole
	// HandsAll: the caller of the agent is handed what its models say as they say it. All of it is the
	// answer.
	HandsAll
	// EndsWithTools: the results of tools are the answer of the agent where the model is not asked again.
	EndsWithTools
	// RecordsNew: of a request that names the response before it, what is new alone is recorded. All of the
	// conversation was sent.
	RecordsNew
	// OmitsFirst: what the instructions begin with is left out of the messages. What is recorded of the
	// system followed it.
	OmitsFirst

	// OmitsArgs: {} stands for the arguments of a streamed call, whatever they were.
	OmitsArgs
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

// Add adds a quirk on a condition.
func (q *Quirks) Add(one Quirks, when bool) {
	if when {
		*q |= one
	}
}

// Hook is a step that puts right what producers with a quirk write. It runs on the items of these producers
// alone.
type Hook struct {
	Quirk Quirks
	// Last says that the hook runs after every other step. Else it runs before texts are opened.
	Last bool
	Run  func(s *Source, o *Draft)
}
