// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconstruct rebuilds agent runs from evidence. It is pure: the same set of items gives the same
// tapes. The order of the items, their batches and their repetitions change nothing.
//
// Its stages follow each other, each in a package of its own that knows those before it in this list only:
//
//   - chat: messages and values, and which are the same
//   - spantree: items become spans with reports; spans that came twice become one
//   - place: whose child each span is
//   - fragment, divide: which spans are one run
//   - join: which parts are one run by what they say
//   - ledger, settle: one call for each real call
//   - recovery: what no span holds
//   - pairing: which answer asked for which call, and what came of it
//   - value: the values of the run and of its events
//   - write: the tape
//
// What reads straight and what repairs is said by the tables of rules: rules.go here, and those of place,
// join and pairing.
package reconstruct
