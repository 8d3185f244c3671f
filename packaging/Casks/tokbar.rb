cask "tokbar" do
  version "0.1.0"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"

  url "https://github.com/tokbar/tokbar/releases/download/v#{version}/Tokbar-#{version}-arm64.dmg"
  name "Tokbar"
  desc "Local LLM server in the menu bar"
  homepage "https://github.com/tokbar/tokbar"

  livecheck do
    url :url
    strategy :github_latest
  end

  auto_updates true
  depends_on arch: :arm64
  depends_on macos: ">= :sonoma"

  app "Tokbar.app"
  binary "#{appdir}/Tokbar.app/Contents/Helpers/tokbar"
  manpage "#{appdir}/Tokbar.app/Contents/Resources/tokbar.1"
  bash_completion "#{appdir}/Tokbar.app/Contents/Resources/tokbar.bash", target: "tokbar"
  fish_completion "#{appdir}/Tokbar.app/Contents/Resources/tokbar.fish"
  zsh_completion "#{appdir}/Tokbar.app/Contents/Resources/_tokbar"

  uninstall quit: "app.tokbar.Tokbar"

  zap trash: [
    "~/Library/Application Support/tokbar",
    "~/Library/Caches/app.tokbar.Tokbar",
    "~/Library/Caches/tokbar",
    "~/Library/HTTPStorages/app.tokbar.Tokbar",
    "~/Library/Preferences/app.tokbar.Tokbar.plist",
    "~/Library/Saved Application State/app.tokbar.Tokbar.savedState",
    "~/Library/WebKit/app.tokbar.Tokbar",
  ]

  caveats <<~EOS
    Models stay on the disk when Tokbar is removed, even with --zap: other programs share them.
    They are in ~/.cache/huggingface/hub; `tokbar ls` shows them, `tokbar rm` removes them.
  EOS
end
