// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// The types of package dialect and package decode, for those who read telemetry through the table.
type (
	Dialect  = dialect.Dialect
	Source   = dialect.Source
	Report   = dialect.Report
	ToolCall = dialect.ToolCall
	Draft    = dialect.Draft
	Class    = dialect.Class
	Note     = dialect.Note
	Inbound  = dialect.Inbound
	Header   = dialect.Header
	Content  = decode.Content
	Message  = decode.Message
	Part     = decode.Part
	Posted   = decode.Posted
)

// The classes of package dialect.
const (
	Unclassified = dialect.Unclassified
	Agent        = dialect.Agent
	Model        = dialect.Model
	Tool         = dialect.Tool
	Retrieval    = dialect.Retrieval
	Structure    = dialect.Structure
	Entry        = dialect.Entry
	Noise        = dialect.Noise
)

// The quirks of package dialect that count when a run is rebuilt.
const (
	OmitsSystem   = dialect.OmitsSystem
	OmitsCalls    = dialect.OmitsCalls
	AnswersWhole  = dialect.AnswersWhole
	HandsAll      = dialect.HandsAll
	EndsWithTools = dialect.EndsWithTools
)

// The scope and attributes of log records that travel as spans, see package dialect.
const (
	LogScope          = dialect.LogScope
	LogBody           = dialect.LogBody
	LogEventName      = dialect.LogEventName
	LogScopeName      = dialect.LogScopeName
	LogSeverityNumber = dialect.LogSeverityNumber
	LogSeverityText   = dialect.LogSeverityText
	LogFlags          = dialect.LogFlags
	LogObservedTime   = dialect.LogObservedTime
)

// NewReport is dialect.NewReport.
func NewReport(class Class, fill func(*Draft)) *Report { return dialect.NewReport(class, fill) }
