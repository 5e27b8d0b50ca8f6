import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Prints the status and length of each URL, with the default trust store, and proxies where the system names them. */
public class Fetch {
    public static void main(String[] urls) throws Exception {
        for (String url : urls) {
            URI uri = URI.create(url);
            HttpResponse<byte[]> r = HttpClient.newBuilder().proxy(java.net.ProxySelector.getDefault()).build()
                .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofByteArray());
            System.out.println(r.statusCode() + " " + r.body().length + " " + r.version());
        }
    }
}
