// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.document.Document;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.bedrockruntime.BedrockRuntimeClient;
import software.amazon.awssdk.services.bedrockruntime.model.ContentBlock;
import software.amazon.awssdk.services.bedrockruntime.model.ConversationRole;
import software.amazon.awssdk.services.bedrockruntime.model.ConverseRequest;
import software.amazon.awssdk.services.bedrockruntime.model.Message;
import software.amazon.awssdk.services.bedrockruntime.model.SystemContentBlock;
import software.amazon.awssdk.services.bedrockruntime.model.Tool;
import software.amazon.awssdk.services.bedrockruntime.model.ToolConfiguration;
import software.amazon.awssdk.services.bedrockruntime.model.ToolInputSchema;
import software.amazon.awssdk.services.bedrockruntime.model.ToolResultBlock;
import software.amazon.awssdk.services.bedrockruntime.model.ToolResultContentBlock;
import software.amazon.awssdk.services.bedrockruntime.model.ToolResultStatus;
import software.amazon.awssdk.services.bedrockruntime.model.ToolSpecification;
import software.amazon.awssdk.services.bedrockruntime.model.ToolUseBlock;

/** A loop over Bedrock's Converse in AWS SDK 2, which leaves all to OpenTelemetry's Java agent: Bedrock GROUP [SCENARIO ...]. */
public final class Bedrock {
  static BedrockRuntimeClient client;

  static Document document(JsonNode node) {
    if (node.isObject()) {
      Document.MapBuilder map = Document.mapBuilder();
      node.properties().forEach(p -> map.putDocument(p.getKey(), document(p.getValue())));
      return map.build();
    }
    if (node.isArray()) {
      List<Document> list = new ArrayList<>();
      node.forEach(n -> list.add(document(n)));
      return Document.fromList(list);
    }
    if (node.isNumber()) {
      return Document.fromNumber(node.asText());
    }
    return node.isBoolean() ? Document.fromBoolean(node.asBoolean()) : node.isNull() ? Document.fromNull() : Document.fromString(node.asText());
  }

  static Tool define(String name, String description, JsonNode schema) {
    return Tool.builder().toolSpec(ToolSpecification.builder().name(name).description(description).inputSchema(ToolInputSchema.fromJson(document(schema))).build()).build();
  }

  static String loop(Recorder.Task task, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history, String user) throws Exception {
    List<Message> said = new ArrayList<>();
    history.forEach(m -> said.add(Message.builder().role(m.role()).content(ContentBlock.fromText(m.content())).build()));
    said.add(Message.builder().role(ConversationRole.USER).content(ContentBlock.fromText(user)).build());
    List<Tool> offered = new ArrayList<>();
    tools.forEach(t -> offered.add(define(t.name(), t.description(), t.parameters())));
    if (sub != null) {
      offered.add(define(sub.name(), sub.description(), Recorder.JSON.readTree("{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}")));
    }
    for (int step = 1; ; step++) {
      if (task.maxSteps() > 0 && step > task.maxSteps()) {
        throw new IllegalStateException("no more steps");
      }
      ConverseRequest.Builder request = ConverseRequest.builder().modelId(task.model()).system(SystemContentBlock.fromText(system)).messages(said);
      if (!offered.isEmpty()) {
        request.toolConfig(ToolConfiguration.builder().tools(offered).build());
      }
      Message answer = client.converse(request.build()).output().message();
      said.add(answer);
      List<ToolUseBlock> calls = answer.content().stream().filter(c -> c.toolUse() != null).map(ContentBlock::toolUse).toList();
      if (calls.isEmpty()) {
        return String.join("", answer.content().stream().filter(c -> c.text() != null).map(ContentBlock::text).toList());
      }
      List<ContentBlock> results = new ArrayList<>();
      for (ToolUseBlock call : calls) {
        ToolResultBlock.Builder result = ToolResultBlock.builder().toolUseId(call.toolUseId());
        String input = call.input().toString();
        try {
          String told = null;
          if (sub != null && call.name().equals(sub.name())) {
            told = loop(task, sub.system(), sub.tools(), null, List.of(), call.input().asMap().get("question").asString());
          }
          for (Recorder.Tool t : tools) {
            told = t.name().equals(call.name()) ? t.text(input) : told;
          }
          if (told == null) {
            throw new IllegalArgumentException("no tool " + call.name());
          }
          result.content(ToolResultContentBlock.fromText(told));
        } catch (Recorder.ToolError | IllegalArgumentException e) {
          result.content(ToolResultContentBlock.fromText("Error: " + e.getMessage())).status(ToolResultStatus.ERROR);
        }
        results.add(ContentBlock.fromToolResult(result.build()));
      }
      said.add(Message.builder().role(ConversationRole.USER).content(results).build());
    }
  }

  public static void main(String[] args) throws Exception {
    Around.otel = io.opentelemetry.api.GlobalOpenTelemetry.get();
    client = BedrockRuntimeClient.builder().endpointOverride(URI.create(Recorder.URL)).region(Region.US_EAST_1)
        .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("k", "s"))).build();
    Recorder.run(args[0], "anthropic.claude-sonnet-4-5-20250929-v1:0", List.of(args).subList(1, args.length),
        task -> loop(task, task.system(), task.tools(), task.sub(), task.history(), task.user()), () -> Recorder.pause(700));
  }
}
