package dev.lockshift;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How a number becomes a value, and back. Values are handled as one character per byte. */
final class Shape {
    private static final Pattern INTEGER = Pattern.compile("\\d+");
    /** In digits: more than any stamp has. */
    private static final int LONGEST_EXACT = 30;

    final double unitMs;
    private final String template;
    private final BigDecimal origin;
    private final Pattern pattern;

    /** Of a row of the table: id, template, unit in ms, count when 1970 began, pattern. */
    Shape(String[] row) {
        template = row[1];
        unitMs = Double.parseDouble(row[2]);
        origin = new BigDecimal(row[3]);
        pattern = row[4].equals("-") ? null : Pattern.compile(row[4]);
    }

    /** The first stamp of this shape that is later than this moment by a unit. */
    byte[] write(double momentMs, String token) {
        BigDecimal units = new BigDecimal(momentMs / unitMs).setScale(0, RoundingMode.CEILING);
        BigInteger number = units.add(BigDecimal.ONE).add(origin).toBigInteger();
        String value = template
                .replace("{n}", number.toString())
                .replace("{be8}", eightBytes(number.longValue(), ByteOrder.BIG_ENDIAN))
                .replace("{le8}", eightBytes(number.longValue(), ByteOrder.LITTLE_ENDIAN))
                .replace("{pid}", processId())
                .replace("{thread}", Long.toString(Thread.currentThread().getId()))
                .replace("{hex}", token)
                .replace("{uuid}", token.replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5"));
        return value.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** The moment in a value, in milliseconds since 1970; NaN if it has another shape. */
    double read(byte[] value) {
        if (pattern == null) {
            return Double.NaN;
        }
        Matcher match = pattern.matcher(new String(value, StandardCharsets.ISO_8859_1));
        if (!match.matches()) {
            return Double.NaN;
        }
        String digits = match.group(1);
        BigDecimal number;
        if (template.contains("{be8}")) {
            number = BigDecimal.valueOf(number(digits, ByteOrder.BIG_ENDIAN));
        } else if (template.contains("{le8}")) {
            number = BigDecimal.valueOf(number(digits, ByteOrder.LITTLE_ENDIAN));
        } else if (digits.length() <= LONGEST_EXACT && INTEGER.matcher(digits).matches()) {
            number = new BigDecimal(digits);
        } else {
            // BigDecimal would write out the zeros of 1e999999999. This is infinite.
            return (Double.parseDouble(digits) - origin.doubleValue()) * unitMs;
        }
        return number.subtract(origin).doubleValue() * unitMs;
    }

    private static String eightBytes(long number, ByteOrder order) {
        byte[] bytes = ByteBuffer.allocate(8).order(order).putLong(number).array();
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static long number(String eightBytes, ByteOrder order) {
        return ByteBuffer.wrap(eightBytes.getBytes(StandardCharsets.ISO_8859_1)).order(order).getLong();
    }

    /** {@code 4711@host} in every JVM since 1.5. */
    private static String processId() {
        return java.lang.management.ManagementFactory.getRuntimeMXBean().getName().replaceFirst("@.*", "");
    }
}
