# For `brew install --build-from-source ./packaging/homebrew/lockshift.rb`, or for a tap.
class Lockshift < Formula
  desc "Redis locks across generations: SETNX timestamp dialects and the modern token lock"
  homepage "https://github.com/lockshift/lockshift"
  url "https://github.com/lockshift/lockshift.git", tag: "v0.1.0"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/lockshift/lockshift.git", branch: "main"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    commands = Utils.safe_popen_read(bin/"lockshift", "help")[/^Commands:\n(.*?)\n\n/m, 1].scan(/^  ([a-z-]+)  /).flatten
    (commands - ["help"]).each do |command|
      (man1/"lockshift-#{command}.1").write Utils.safe_popen_read(bin/"lockshift", "man", command)
    end
    (man1/"lockshift.1").write Utils.safe_popen_read(bin/"lockshift", "man")
    generate_completions_from_executable(bin/"lockshift", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lockshift --version")
    assert_match "crash-before-expire", shell_output("#{bin}/lockshift races crash-before-expire")
  end
end
