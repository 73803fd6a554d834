// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"encoding/binary"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// WebTrace makes a trace of a web shop: 20 spans of HTTP and database calls, 2 KB each, none of an agent.
func (g *Generator) WebTrace() ptrace.Traces {
	const calls, statementBytes = 19, 1500
	g.count++
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "web-shop")
	rs.Resource().Attributes().PutStr("telemetry.sdk.language", "java")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("io.opentelemetry.jdbc")
	var trace pcommon.TraceID
	binary.BigEndian.PutUint64(trace[:], g.rand.Uint64()|1)
	binary.BigEndian.PutUint64(trace[8:], g.count)
	root, clock := g.spanID(), uint64(1_760_000_000_000_000_000)+g.count*1_000_000_000
	span := func(name string, id, parent pcommon.SpanID, kind ptrace.SpanKind, took uint64) pcommon.Map {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(trace)
		s.SetSpanID(id)
		s.SetParentSpanID(parent)
		s.SetName(name)
		s.SetKind(kind)
		s.SetStartTimestamp(pcommon.Timestamp(clock))
		s.SetEndTimestamp(pcommon.Timestamp(clock + took))
		return s.Attributes()
	}
	for n := range calls {
		a := span("SELECT shop.orders", g.spanID(), root, ptrace.SpanKindClient, 3_000_000)
		a.PutStr("db.system.name", "postgresql")
		a.PutStr("db.namespace", "shop")
		a.PutStr("db.query.text", "SELECT "+g.text(statementBytes))
		a.PutStr("server.address", "db-1.shop.internal")
		a.PutInt("server.port", 5432)
		a.PutStr("network.peer.address", fmt.Sprintf("10.0.%d.%d", n, g.rand.IntN(250)))
		a.PutStr("thread.name", "http-nio-8080-exec-7")
		a.PutInt("thread.id", int64(g.rand.IntN(200)))
		a.PutStr("code.function.name", "com.example.shop.OrderRepository.find")
	}
	a := span("GET /orders/{id}", root, pcommon.SpanID{}, ptrace.SpanKindServer, 80_000_000)
	a.PutStr("http.request.method", "GET")
	a.PutStr("http.route", "/orders/{id}")
	a.PutStr("url.path", fmt.Sprintf("/orders/%d", g.rand.IntN(1_000_000)))
	a.PutInt("http.response.status_code", 200)
	a.PutStr("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) "+g.text(200))
	return td
}
