// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlock;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.braintrust.instrumentation.anthropic.BraintrustAnthropic;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A loop over anthropic-java: Anthropic braintrust|semconv [SCENARIO ...]. */
public final class Anthropic {
  static OpenTelemetrySdk otel = Recorder.openTelemetry();
  static boolean byHand;
  static AnthropicClient client;

  static Message ask(Recorder.Task task, MessageCreateParams params) {
    if (!task.stream()) {
      return client.messages().create(params);
    }
    MessageAccumulator whole = MessageAccumulator.create();
    try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
      events.stream().forEach(whole::accumulate);
    }
    return whole.message();
  }

  static String loop(Recorder.Task task, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history, String user) throws Exception {
    var params = MessageCreateParams.builder().model(task.model()).maxTokens(1024).system(system);
    ArrayNode said = Recorder.JSON.createArrayNode();
    said.add(Semconv.message("system", Semconv.text(system)));
    for (Recorder.Message m : history) {
      said.add(Semconv.message(m.role(), Semconv.text(m.content())));
      params = m.role().equals("user") ? params.addUserMessage(m.content()) : params.addAssistantMessage(m.content());
    }
    params.addUserMessage(user);
    said.add(Semconv.message("user", Semconv.text(user)));
    for (Recorder.Tool t : tools) {
      define(params, t.name(), t.description(), Recorder.JSON.convertValue(t.parameters(), Map.class));
    }
    if (sub != null) {
      define(params, sub.name(), sub.description(), Map.of("type", "object", "properties", Map.of("question", Map.of("type", "string")), "required", List.of("question")));
    }
    for (int step = 1; ; step++) {
      if (task.maxSteps() > 0 && step > task.maxSteps()) {
        throw new IllegalStateException("no more steps");
      }
      MessageCreateParams now = params.build();
      Message message = byHand ? Semconv.model(otel, "anthropic", task.model(), said, () -> ask(task, now), Anthropic::describe) : ask(task, now);
      params.addMessage(message);
      said.add(describe(message));
      List<ToolUseBlock> calls = message.content().stream().filter(ContentBlock::isToolUse).map(ContentBlock::asToolUse).toList();
      if (calls.isEmpty()) {
        return message.content().get(0).asText().text();
      }
      List<ContentBlockParam> results = new ArrayList<>();
      ArrayNode shown = Recorder.JSON.createArrayNode();
      for (ToolUseBlock call : calls) {
        String input = Recorder.JSON.writeValueAsString(call._input().convert(Map.class));
        boolean[] failed = new boolean[1];
        String result = Semconv.tool(byHand ? otel : null, call.name(), call.id(), input, arguments -> {
          failed[0] = true;
          String told = null;
          if (sub != null && call.name().equals(sub.name())) {
            String question = Recorder.JSON.readTree(arguments).get("question").asText();
            told = Semconv.agent(byHand ? otel : null, sub.name(), question, () -> loop(task, sub.system(), sub.tools(), null, List.of(), question));
          }
          for (Recorder.Tool t : tools) {
            told = t.name().equals(call.name()) ? t.text(arguments) : told;
          }
          if (told == null) {
            throw new IllegalArgumentException("no tool " + call.name());
          }
          failed[0] = false;
          return told;
        });
        results.add(ContentBlockParam.ofToolResult(ToolResultBlockParam.builder().toolUseId(call.id()).content(result).isError(failed[0]).build()));
        shown.add(Semconv.result(call.id(), result));
      }
      params.addUserMessageOfBlockParams(results);
      said.add(Semconv.message("user", shown));
    }
  }

  static ObjectNode describe(Message message) {
    ArrayNode parts = Recorder.JSON.createArrayNode();
    for (ContentBlock block : message.content()) {
      block.text().ifPresent(t -> parts.add(Semconv.text(t.text())));
      block.toolUse().ifPresent(c -> {
        try {
          parts.add(Semconv.call(c.id(), c.name(), Recorder.JSON.writeValueAsString(c._input().convert(Map.class))));
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      });
    }
    return Semconv.message("assistant", parts).put("finish_reason", message.stopReason().get().asString());
  }

  static void define(MessageCreateParams.Builder params, String name, String description, Map<String, Object> schema) {
    var input = Tool.InputSchema.builder();
    schema.forEach((k, v) -> input.putAdditionalProperty(k, JsonValue.from(v)));
    params.addTool(Tool.builder().name(name).description(description).inputSchema(input.build()).build());
  }

  public static void main(String[] args) throws Exception {
    byHand = args[0].equals("semconv");
    client = AnthropicOkHttpClient.builder().baseUrl(Recorder.URL).apiKey("k").maxRetries(0).build();
    if (!byHand) {
      client = BraintrustAnthropic.wrap(otel, client);
    }
    Recorder.run("anthropic-java-" + args[0], "claude-sonnet-4-5", List.of(args).subList(1, args.length), task ->
        Semconv.agent(byHand ? otel : null, "assistant", task.user(), () -> loop(task, task.system(), task.tools(), task.sub(), task.history(), task.user())),
        () -> otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS));
  }
}
