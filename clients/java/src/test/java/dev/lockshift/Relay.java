package dev.lockshift;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** A relay before the server that REDIS_URL names. It passes commands on, and withholds replies or cuts connections. */
final class Relay implements AutoCloseable {
    private final URI server = URI.create(System.getenv("REDIS_URL"));
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    final int port = listener.getLocalPort();
    /** Whether replies are dropped. */
    volatile boolean withholds;
    /** The next command with this word is passed on, and its connection closed instead of the reply. */
    volatile String cutsAt;

    Relay() throws IOException {
        start(() -> {
            while (true) {
                connect(listener.accept());
            }
        });
    }

    private void connect(Socket client) throws IOException {
        Socket upstream = new Socket(server.getHost(), server.getPort() < 0 ? 6379 : server.getPort());
        boolean[] isCut = new boolean[1];
        start(() -> pump(client, upstream, command -> {
            String word = cutsAt;
            if (word != null && command.contains(word)) {
                cutsAt = null;
                isCut[0] = true;
            }
            return true;
        }));
        start(() -> pump(upstream, client, reply -> {
            if (isCut[0]) {
                throw new IOException("cut");
            }
            return !withholds;
        }));
    }

    private interface Filter {
        boolean passes(String text) throws IOException;
    }

    private static void pump(Socket from, Socket to, Filter filter) throws IOException {
        try (Socket source = from; Socket sink = to) {
            InputStream in = source.getInputStream();
            byte[] part = new byte[65536];
            for (int length = in.read(part); length >= 0; length = in.read(part)) {
                if (filter.passes(new String(part, 0, length, StandardCharsets.ISO_8859_1))) {
                    sink.getOutputStream().write(part, 0, length);
                }
            }
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException ended) {
                // By the test, or by one of the two sides.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
