// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package recorder makes runs whose truth is known. It is at once the model of an agent (a script behind the APIs of the providers), the
// world its tools reach, the OTLP sink of its instrumentation, and the writer of what really happened. An agent of any framework in any
// language that is pointed at it leaves SCENARIO.otlp.json, SCENARIO.logs.json and SCENARIO.truth.json as they lie in testdata/corpus; the
// truth comes from the tools and the model, never from the spans.
//
// Beside the written scenarios it draws any number from a seed, for what a reader that was tuned on the written ones has not seen; the same seed gives the same scenarios:
//
//	go run ./internal/testbed/cmd/recorder -out DIR -generate 24 -seed 7
//
// The protocol of a driver:
//
//	GET  /scenarios                                     names of scenarios
//	POST /begin {"group", "scenario", "model",
//	             "answer_tool": {"name", "argument"}}   the task: system, user, history, model, stream, max_steps, tools, sub
//	POST /tool/NAME arguments                           {"result": any} to return or {"error": text} to raise
//	POST /end {"output": text|null, "error": text|null} after the flush of the tracer: the files are written
//
// Where a framework makes its model answer by calling a tool, as final_answer of smolagents, "answer_tool" names it, and the model does so
// instead of saying its last text. Such a call is none of the agent's tools: the driver does not report it.
//
// The agent in "sub" is a tool of the main agent that runs a second agent; the recorder sees it by its system prompt, the driver reports
// nothing. Any path that ends as the API of a provider does is that API, any path that ends in /v1/traces or /v1/logs takes OTLP. What was
// recorded is scored as below. drivers/ holds real agents under real instrumentations, a file for each framework or SDK, with the
// versions they were last run with.
//
//	go run ./internal/testbed/cmd/scorecard -score DIR [-list]
package recorder
