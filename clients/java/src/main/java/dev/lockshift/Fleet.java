package dev.lockshift;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The old clients that share a key: the stamp that keeps them out, and how their stamps are judged. Both come from two
 * tables which are generated from lockshift's catalogue of dialects.
 */
final class Fleet {
    private static final double YEAR_MS = 366 * 86_400_000.0;
    /** Twice the longest lease. */
    private static final double FAR_MS = 200 * YEAR_MS;
    /** 2009: no lock is older than Redis. */
    private static final double EARLIEST_MS = 1_230_768_000_000.0;
    /** The longest lease, a century, and a wrong clock. */
    private static final double LATEST_MS = 101 * YEAR_MS;

    private final Shape stamp;
    private final double aheadMs;
    private final List<Reader> readers = new ArrayList<>();

    private static final class Reader {
        final Shape shape;
        final double graceMs;
        final boolean addsLease;

        Reader(Shape shape, double graceMs, boolean addsLease) {
            this.shape = shape;
            this.graceMs = graceMs;
            this.addsLease = addsLease;
        }
    }

    Fleet(List<String> names) {
        Map<String, String[]> shapes = table("shapes");
        Map<String, String[]> dialects = table("dialects");
        if (names.isEmpty()) {
            throw new NotBridgeableException("a bridge needs the dialects of the old clients");
        }
        for (String name : names) {
            if (!dialects.containsKey(name)) {
                throw new NotBridgeableException("no bridge is known for " + name);
            }
        }
        String writer = null;
        for (String name : names) {
            // Name, the shape that it writes, the shape of its bridge's stamp, grace in ms, allowance, the shapes it respects.
            String[] row = dialects.get(name);
            boolean keepsAllOut = true;
            for (String other : names) {
                List<String> respected = Arrays.asList(dialects.get(other)[5].split(","));
                if (!other.equals(name) && !respected.contains(row[1])) {
                    throw new NotBridgeableException(other + " takes over the locks of " + name + " while they are held");
                }
                keepsAllOut &= respected.contains(row[2]);
            }
            if (writer == null && keepsAllOut) {
                writer = row[2];
            }
            if (!row[4].equals("never")) {
                readers.add(new Reader(new Shape(shapes.get(row[1])), Double.parseDouble(row[3]), row[4].equals("lease")));
            }
        }
        if (writer == null) {
            throw new NotBridgeableException("no stamp keeps out all of " + String.join(", ", names));
        }
        stamp = new Shape(shapes.get(writer));
        aheadMs = writer.endsWith("-far") ? FAR_MS : 0;
    }

    /** The value that keeps the fleet out for this lease. */
    byte[] stamp(String token, long leaseMs, double nowMs) {
        return stamp.write(nowMs + leaseMs + aheadMs, token);
    }

    /** Whether a value of the old key is an expired lock. A value that no dialect of the fleet writes is live. */
    boolean isExpired(byte[] value, long leaseMs, double nowMs) {
        double last = Double.NEGATIVE_INFINITY;
        for (Reader reader : readers) {
            double moment = reader.shape.read(value);
            if (moment >= EARLIEST_MS && moment <= nowMs + LATEST_MS) {
                // A unit later than the stamp, or a millisecond: a bridge is never earlier than an old client.
                double end = moment + Math.max(reader.shape.unitMs, 1) + reader.graceMs;
                last = Math.max(last, end + (reader.addsLease ? leaseMs : 0));
            }
        }
        return last > 0 && last < nowMs;
    }

    /** The rows of a table by their first column. */
    private static Map<String, String[]> table(String name) {
        Map<String, String[]> rows = new HashMap<>();
        InputStream bytes = Fleet.class.getResourceAsStream(name + ".tsv");
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(bytes, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] columns = line.split("\t");
                rows.put(columns[0], columns);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return rows;
    }

    /** A script of this package. */
    static byte[] script(String name) {
        try (InputStream in = Fleet.class.getResourceAsStream(name + ".lua")) {
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            byte[] part = new byte[4096];
            for (int length = in.read(part); length >= 0; length = in.read(part)) {
                text.write(part, 0, length);
            }
            return text.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
