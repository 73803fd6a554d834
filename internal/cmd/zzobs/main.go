package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/otlpfile"
)

func cut(s string) string {
	n := 160
	if v := os.Getenv("N"); v != "" {
		n, _ = strconv.Atoi(v)
	}
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
func msgs(label string, ms []genai.Message) {
	for _, m := range ms {
		fmt.Printf("      %s %s:", label, m.Role)
		for _, p := range m.Parts {
			fmt.Printf(" [%s %s %s %s|%s%s%s lbl=%s]", p.Type, p.ID, p.Name, cut(p.Text), cut(p.Args.JSON()), cut(p.Result.JSON()), cut(p.Value.JSON()), p.Label)
		}
		fmt.Println()
	}
}
func main() {
	set := evidence.NewSet()
	for _, f := range os.Args[1:] {
		for d, err := range otlpfile.ReadFile(f, nil, otlpfile.Options{}) {
			if err != nil {
				panic(err)
			}
			set.AddTraces(d.Traces)
			set.AddTraces(evidence.LogsToTraces(d.Logs))
		}
	}
	for _, item := range set.Items() {
		s := item.Span
		o := genai.Read(&genai.Source{Resource: item.Resource.Resource().Attributes(), ScopeName: item.Scope.Scope().Name(), Span: s})
		fmt.Printf("## %s %s <- %s [%s] class=%d weak=%v run=%v %v name=%q agent=%q model=%q/%q id=%q fin=%v call=%q failed=%v/%v\n", s.Name(), s.SpanID().String()[:6], s.ParentSpanID().String(), item.Scope.Scope().Name(), o.Class, o.WeakAgent, o.RunSpan, o.Dialects, o.Name, o.Agent.Name, o.Model, o.ResponseModel, o.ResponseID, o.FinishReasons, o.CallID, o.Failed, o.StatusError)
		msgs("in", o.Input)
		msgs("out", o.Output)
		msgs("req", o.Request)
		msgs("resp", o.Response)
		for _, c := range []struct {
			n string
			c genai.Content
		}{{"args", o.Args}, {"result", o.Result}, {"indata", o.InputData}, {"outdata", o.OutputData}} {
			if c.c.Present() {
				fmt.Printf("      %s %s lbl=%s env=%v\n", c.n, cut(c.c.Value.JSON()), c.c.Label, c.c.Envelope)
			}
		}
		for _, n := range o.Notes {
			fmt.Println("      note", n)
		}
	}
}
