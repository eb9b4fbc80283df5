// Print each result of every table: `dotnet run HOST PORT [USER PASSWORD]` (.NET 8).
// dotnet new console && dotnet add package MQTTnet --version 4.3.7.1207
using System.Text.Json;
using MQTTnet;
using MQTTnet.Client;
using MQTTnet.Protocol;

var last = new Dictionary<string, long>(); // by topic, the newest taken: the same may come twice
var client = new MqttFactory().CreateMqttClient();
client.ApplicationMessageReceivedAsync += e =>
{
    using var json = JsonDocument.Parse(e.ApplicationMessage.ConvertPayloadToString());
    var result = json.RootElement;
    var (topic, seq) = (e.ApplicationMessage.Topic, result.GetProperty("seq").GetInt64());
    if (seq > last.GetValueOrDefault(topic, -1))
    {
        last[topic] = seq;
        Console.WriteLine(string.Join(' ', new[] { "table", "shoe", "coup", "revision", "state", "winner" }
            .Select(name => result.GetProperty(name).ToString())));
    }
    return Task.CompletedTask;
};
var options = new MqttClientOptionsBuilder().WithTcpServer(args[0], int.Parse(args[1]));
if (args.Length > 3) options = options.WithCredentials(args[2], args[3]).WithTlsOptions(o => o.UseTls());
await client.ConnectAsync(options.Build());
await client.SubscribeAsync("casino/+/table/+/coup/result", MqttQualityOfServiceLevel.AtLeastOnce);
await Task.Delay(Timeout.Infinite);
