//! Everything that the tray menu, notifications and the app's own pages say, in each language. The window's words are the UI's.

/// A language that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// The one for a locale such as `zh_CN.UTF-8` or `zh-Hans-CN`; English where there is none better.
    pub fn of(locale: &str) -> Self {
        let is_chinese = locale.split(['-', '_', '.']).next().is_some_and(|tongue| tongue.eq_ignore_ascii_case("zh"));
        if is_chinese { Self::Chinese } else { Self::English }
    }

    /// The system's.
    pub fn of_system() -> Self {
        Self::of(&sys_locale::get_locale().unwrap_or_default())
    }

    /// What is said in it.
    pub fn words(self) -> &'static Words {
        match self {
            Self::English => &ENGLISH,
            Self::Chinese => &CHINESE,
        }
    }
}

/// `{0}` and `{1}` stand for what [`fill`] puts there.
#[allow(missing_docs, reason = "each is named after what it says in English")]
#[derive(Debug)]
pub struct Words {
    pub stopped: &'static str,
    pub ready: &'static str,
    pub loading: &'static str,
    pub leaving: &'static str,
    pub prefill: &'static str,
    pub reading_prompt: &'static str,
    pub rate: &'static str,
    pub not_serving: &'static str,
    pub load_failed: &'static str,
    pub pressure_normal: &'static str,
    pub pressure_warning: &'static str,
    pub pressure_critical: &'static str,
    pub ended_badly: &'static str,
    pub safe_mode: &'static str,
    pub leave_safe_mode: &'static str,
    pub enter_safe_mode: &'static str,
    pub show_report: &'static str,
    pub start: &'static str,
    pub choose_model: &'static str,
    pub stop: &'static str,
    pub try_again: &'static str,
    pub models: &'static str,
    pub no_model_loaded: &'static str,
    pub unload: &'static str,
    pub keep_loaded: &'static str,
    pub recent: &'static str,
    pub on_this_machine: &'static str,
    pub fits: &'static str,
    pub get_more: &'static str,
    pub connect: &'static str,
    pub all_clients: &'static str,
    pub copy_endpoint: &'static str,
    pub open: &'static str,
    pub settings: &'static str,
    pub check_updates: &'static str,
    pub install_update: &'static str,
    pub update_looking: &'static str,
    pub update_none: &'static str,
    pub update_waiting: &'static str,
    pub update_ready: &'static str,
    pub update_ready_text: &'static str,
    pub update_failed: &'static str,
    pub quit: &'static str,
    pub unloaded_title: &'static str,
    pub unloaded_text: &'static str,
    pub downloaded_title: &'static str,
    pub downloaded_text: &'static str,
    pub download_failed: &'static str,
    pub hidden_icon: &'static str,
    pub hidden_icon_fix: &'static str,
    pub new_fails_title: &'static str,
    pub new_fails_text: &'static str,
    pub go_back: &'static str,
}

const ENGLISH: Words = Words {
    stopped: "Stopped",
    ready: "Ready",
    loading: "Loading {0} %",
    leaving: "Unloading",
    prefill: "Prefill {0} %",
    reading_prompt: "Reading the prompt",
    rate: "{0} tok/s",
    not_serving: "Not serving: {0}",
    load_failed: "{0} could not be loaded: {1}",
    pressure_normal: "Memory pressure normal · {0} free",
    pressure_warning: "Memory is getting short · {0} free",
    pressure_critical: "Memory is very short · {0} free",
    ended_badly: "Tokbar ended unexpectedly last time",
    safe_mode: "Safe mode: one request at a time, smaller cache",
    leave_safe_mode: "Leave Safe Mode",
    enter_safe_mode: "Serve in Safe Mode",
    show_report: "Show Report…",
    start: "Start {0}",
    choose_model: "Choose a Model…",
    stop: "Stop Serving",
    try_again: "Try Again",
    models: "Models",
    no_model_loaded: "No model is loaded",
    unload: "Unload",
    keep_loaded: "Keep Loaded",
    recent: "Recent",
    on_this_machine: "On This Machine",
    fits: "Fits This Machine",
    get_more: "Get More Models…",
    connect: "Connect",
    all_clients: "All Clients…",
    copy_endpoint: "Copy Endpoint URL",
    open: "Open Tokbar",
    settings: "Settings…",
    check_updates: "Check for Updates…",
    install_update: "Restart to Update to {0}",
    update_looking: "Looking for updates…",
    update_none: "Tokbar {0} is the newest version.",
    update_waiting: "Tokbar {0} is there and waits: {1}",
    update_ready: "Tokbar {0} is ready to install.",
    update_ready_text: "Choose “Restart to Update to {0}” in Tokbar's menu.",
    update_failed: "There is no update: {0}",
    quit: "Quit Tokbar",
    unloaded_title: "{0} was unloaded",
    unloaded_text: "Memory became very short. Close other programs, then start it again.",
    downloaded_title: "{0} is here",
    downloaded_text: "It can be started from the menu.",
    download_failed: "{0} was not downloaded",
    hidden_icon: "Tokbar's icon is not in the menu bar",
    hidden_icon_fix: "Tokbar keeps its window in reach instead. Allow it in the Menu Bar settings to have the icon back.",
    new_fails_title: "Tokbar {0} does not start",
    new_fails_text: "It ended before it was ready, several times. Tokbar {0}, which ran before, was kept. Settings and models stay as they are.",
    go_back: "Go Back to {0}",
};

const CHINESE: Words = Words {
    stopped: "已停止",
    ready: "就绪",
    loading: "正在载入 {0} %",
    leaving: "正在卸载",
    prefill: "预填充 {0} %",
    reading_prompt: "正在读取提示词",
    rate: "{0} 词元/秒",
    not_serving: "未提供服务：{0}",
    load_failed: "无法载入 {0}：{1}",
    pressure_normal: "内存压力正常 · 可用 {0}",
    pressure_warning: "内存偏紧 · 可用 {0}",
    pressure_critical: "内存严重不足 · 可用 {0}",
    ended_badly: "Tokbar 上次意外退出",
    safe_mode: "安全模式：一次一个请求，缓存较小",
    leave_safe_mode: "退出安全模式",
    enter_safe_mode: "以安全模式提供服务",
    show_report: "显示报告…",
    start: "启动 {0}",
    choose_model: "选择模型…",
    stop: "停止服务",
    try_again: "重试",
    models: "模型",
    no_model_loaded: "没有已载入的模型",
    unload: "卸载",
    keep_loaded: "保持载入",
    recent: "最近使用",
    on_this_machine: "本机已有",
    fits: "适合本机",
    get_more: "获取更多模型…",
    connect: "连接",
    all_clients: "所有客户端…",
    copy_endpoint: "拷贝接口地址",
    open: "打开 Tokbar",
    settings: "设置…",
    check_updates: "检查更新…",
    install_update: "重新启动以更新到 {0}",
    update_looking: "正在检查更新…",
    update_none: "Tokbar {0} 已是最新版本。",
    update_waiting: "Tokbar {0} 已可用，正在等待：{1}",
    update_ready: "Tokbar {0} 可以安装。",
    update_ready_text: "请在 Tokbar 菜单中选择“重新启动以更新到 {0}”。",
    update_failed: "无法更新：{0}",
    quit: "退出 Tokbar",
    unloaded_title: "{0} 已卸载",
    unloaded_text: "内存严重不足。请关闭其他程序后重新启动模型。",
    downloaded_title: "{0} 已下载",
    downloaded_text: "可以从菜单启动。",
    download_failed: "{0} 下载失败",
    hidden_icon: "菜单栏中没有 Tokbar 的图标",
    hidden_icon_fix: "Tokbar 会改为保留窗口。请在“菜单栏”设置中允许它，以恢复图标。",
    new_fails_title: "Tokbar {0} 无法启动",
    new_fails_text: "它多次在就绪之前退出。之前运行的 Tokbar {0} 已保留。设置和模型不受影响。",
    go_back: "恢复 {0}",
};

/// Puts `values` in place of `{0}`, `{1}`, ...
pub fn fill(template: &str, values: &[&str]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((number, end)) = after.split_once('}') else { break };
        text.push_str(before);
        text.push_str(number.parse::<usize>().ok().and_then(|idx| values.get(idx)).unwrap_or(&""));
        rest = end;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
