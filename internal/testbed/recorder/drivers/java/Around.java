// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * What an application writes itself around its agent and in its tools, whatever the framework writes. AROUND in the environment names a style, those of around.go:
 * bare, http, io, own, semconv, nocontent or inference; without it there is nothing.
 */
final class Around {
  private static final String STYLE = System.getenv().getOrDefault("AROUND", "");
  static OpenTelemetry otel;

  private static String said(String role, String text) {
    return Recorder.JSON.valueToTree(List.of(Map.of("role", role, "parts", List.of(Map.of("type", "text", "content", text))))).toString();
  }

  private static void set(Span span, String... pairs) {
    for (int i = 0; i < pairs.length; i += 2) {
      span.setAttribute(pairs[i], pairs[i + 1]);
    }
  }

  private static Span start(Tracer tracer, boolean tool, String name, String input) {
    return switch (STYLE) {
      case "http" -> tracer.spanBuilder(tool ? "SELECT entries" : "POST /api/chat").setSpanKind(tool ? SpanKind.CLIENT : SpanKind.SERVER).startSpan();
      case "own" -> tracer.spanBuilder(tool ? "tool." + name : "agent.run").startSpan();
      case "semconv", "nocontent" -> tracer.spanBuilder((tool ? "execute_tool " : "invoke_agent ") + name).startSpan();
      default -> tracer.spanBuilder(name).startSpan();
    };
  }

  private static void before(Span span, boolean tool, String name, String input) {
    switch (STYLE) {
      case "http" -> {
        if (tool) {
          set(span, "db.system.name", "postgresql", "db.query.text", "SELECT body FROM entries WHERE key = $1", "db.operation.name", "SELECT");
        } else {
          set(span, "http.request.method", "POST", "http.route", "/api/chat", "url.path", "/api/chat", "url.scheme", "https", "server.address", "agents.example.test");
        }
      }
      case "io" -> set(span, "input", input);
      case "own" -> {
        if (tool) {
          set(span, "tool.name", name, "tool.args", input);
        } else {
          set(span, "app.question", input, "user.id", "u-17", "session.id", "s-4");
        }
      }
      case "semconv", "nocontent" -> {
        if (tool) {
          set(span, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.type", "function");
        } else {
          set(span, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", name);
        }
        if (STYLE.equals("semconv")) {
          set(span, tool ? "gen_ai.tool.call.arguments" : "gen_ai.input.messages", tool ? input : said("user", input));
        }
      }
      case "inference" -> {
        set(span, "openinference.span.kind", tool ? "TOOL" : "AGENT", "input.value", input);
        if (tool) {
          set(span, "tool.name", name);
        }
      }
      default -> {}
    }
  }

  private static void after(Span span, boolean tool, String result) {
    switch (STYLE) {
      case "http" -> {
        if (!tool) {
          span.setAttribute("http.response.status_code", 200);
        }
      }
      case "io" -> set(span, "output", result);
      case "own" -> set(span, tool ? "tool.result" : "app.answer", result);
      case "semconv" -> set(span, tool ? "gen_ai.tool.call.result" : "gen_ai.output.messages", tool ? result : said("assistant", result));
      case "inference" -> set(span, "output.value", result);
      default -> {}
    }
  }

  interface Written<T> {
    String of(T result);
  }

  static <T> T inside(boolean tool, String name, String input, Written<T> written, Callable<T> body) throws Exception {
    if (STYLE.isEmpty() || otel == null) {
      return body.call();
    }
    Tracer tracer = otel.getTracer("com.example.office", "1.4.0");
    Span span = start(tracer, tool, name, input);
    before(span, tool, name, input);
    try (Scope scope = span.makeCurrent()) {
      if (STYLE.equals("http") && !tool) {
        Span handler = tracer.spanBuilder("ChatController.chat").setAttribute("code.function.name", "com.example.office.ChatController.chat").startSpan();
        try (Scope inner = handler.makeCurrent()) {
          return body.call();
        } finally {
          handler.end();
          after(span, false, "");
        }
      }
      T result = body.call();
      after(span, tool, String.valueOf(written.of(result)));
      return result;
    } catch (Exception e) {
      span.recordException(e);
      span.setStatus(StatusCode.ERROR, String.valueOf(e.getMessage()));
      throw e;
    } finally {
      span.end();
    }
  }
}
