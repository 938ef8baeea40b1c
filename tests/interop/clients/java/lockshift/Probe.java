package dev.lockshift;

import java.util.Arrays;

/** What only this project's package answers: the stamp that it writes, and how it judges a value. Bytes are in hex. */
public final class Probe {
    public static String answer(String verb, String[] args) {
        Fleet fleet = new Fleet(Arrays.asList(args[0].split("\\+")));
        switch (verb) {
            case "stamp":
                return hex(fleet.stamp(args[1], Long.parseLong(args[2]), Double.parseDouble(args[3])));
            case "judge":
                boolean expired = fleet.isExpired(bytes(args[3]), Long.parseLong(args[1]), Double.parseDouble(args[2]));
                return expired ? "expired" : "live";
        }
        throw new IllegalArgumentException("no such question: " + verb);
    }

    private static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte one : bytes) {
            hex.append(String.format("%02x", one));
        }
        return hex.toString();
    }

    private static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private Probe() {}
}
