// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import dev.braintrust.instrumentation.openai.BraintrustOpenAI;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A loop over openai-java: Openai braintrust|semconv|agent [SCENARIO ...]; agent leaves all to OpenTelemetry's Java agent. */
public final class Openai {
  static OpenTelemetrySdk otel = Recorder.openTelemetry();
  static boolean byHand;
  static OpenAIClient client;

  static ChatCompletion ask(Recorder.Task task, ChatCompletionCreateParams params) {
    if (!task.stream()) {
      return client.chat().completions().create(params);
    }
    ChatCompletionAccumulator whole = ChatCompletionAccumulator.create();
    try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(params)) {
      chunks.stream().forEach(whole::accumulate);
    }
    return whole.chatCompletion();
  }

  static String loop(Recorder.Task task, String name, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history, String user) throws Exception {
    var params = ChatCompletionCreateParams.builder().model(task.model()).addSystemMessage(system);
    ArrayNode said = Recorder.JSON.createArrayNode();
    said.add(Semconv.message("system", Semconv.text(system)));
    if (task.stream()) {
      params.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
    }
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
      ChatCompletionCreateParams now = params.build();
      ChatCompletion completion = byHand ? Semconv.model(otel, "openai", task.model(), said, () -> ask(task, now), Openai::describe) : ask(task, now);
      ChatCompletionMessage message = completion.choices().get(0).message();
      params.addMessage(message);
      said.add(describe(completion));
      List<ChatCompletionMessageToolCall> calls = message.toolCalls().orElse(List.of());
      if (calls.isEmpty()) {
        return message.content().orElse("");
      }
      for (ChatCompletionMessageToolCall call : calls) {
        var f = call.asFunction();
        String result = Semconv.tool(byHand ? otel : null, f.function().name(), f.id(), f.function().arguments(), arguments -> {
          if (sub != null && f.function().name().equals(sub.name())) {
            String question = Recorder.JSON.readTree(arguments).get("question").asText();
            return Semconv.agent(byHand ? otel : null, sub.name(), question, () -> loop(task, sub.name(), sub.system(), sub.tools(), null, List.of(), question));
          }
          for (Recorder.Tool t : tools) {
            if (t.name().equals(f.function().name())) {
              return t.text(arguments);
            }
          }
          throw new IllegalArgumentException("no tool " + f.function().name());
        });
        params.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(f.id()).content(result).build());
        said.add(Semconv.message("tool", Semconv.result(f.id(), result)));
      }
    }
  }

  static ObjectNode describe(ChatCompletion completion) {
    ChatCompletionMessage message = completion.choices().get(0).message();
    ArrayNode parts = Recorder.JSON.createArrayNode();
    message.content().filter(t -> !t.isEmpty()).ifPresent(t -> parts.add(Semconv.text(t)));
    message.toolCalls().orElse(List.of()).forEach(c -> parts.add(Semconv.call(c.asFunction().id(), c.asFunction().function().name(), c.asFunction().function().arguments())));
    return Semconv.message("assistant", parts).put("finish_reason", completion.choices().get(0).finishReason().asString());
  }

  static void define(ChatCompletionCreateParams.Builder params, String name, String description, Map<String, Object> schema) {
    FunctionParameters.Builder parameters = FunctionParameters.builder();
    schema.forEach((k, v) -> parameters.putAdditionalProperty(k, JsonValue.from(v)));
    params.addFunctionTool(FunctionDefinition.builder().name(name).description(description).parameters(parameters.build()).build());
  }

  public static void main(String[] args) throws Exception {
    byHand = args[0].equals("semconv");
    client = OpenAIOkHttpClient.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").maxRetries(0).build();
    if (args[0].equals("braintrust")) {
      client = BraintrustOpenAI.wrapOpenAI(otel, client);
    }
    boolean agent = args[0].equals("agent");
    if (agent) {
      Around.otel = io.opentelemetry.api.GlobalOpenTelemetry.get();
    }
    Recorder.run(agent ? "openai-java4-javaagent" : "openai-java-" + args[0], "gpt-4o-mini", List.of(args).subList(1, args.length), task ->
        Semconv.agent(byHand ? otel : null, "assistant", task.user(), () -> loop(task, "assistant", task.system(), task.tools(), task.sub(), task.history(), task.user())),
        () -> {
          if (agent) {
            Recorder.pause(700); // OTEL_BSP_SCHEDULE_DELAY and OTEL_BLRP_SCHEDULE_DELAY are 100
          }
          otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS);
        });
  }
}
