//! Units and currencies in scripts without spaces, where each sign is a word of its own: `500兆瓦`, `50万キロワット`.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;

use super::units::{self, Unit};

/// Signs of the longest of these.
const LONGEST: usize = 9;

/// Units by a word in letters for the same, but for 分 and 분, which are minutes as well as points and marks; none of the
/// words behind `-` is one, but begins as one does.
const UNITS: &[(&str, &str)] = &[
    ("nm", "纳米 奈米 ナノメートル 나노미터"),
    ("µm", "微米 マイクロメートル 마이크로미터"),
    ("mm", "毫米 公厘 ミリメートル 밀리미터"),
    ("cm", "厘米 公分 センチメートル センチ 센티미터"),
    ("m", "米 公尺 メートル 미터"),
    ("km", "公里 千米 キロメートル 킬로미터"),
    ("miles", "英里 マイル 마일"),
    ("feet", "英尺 フィート 피트"),
    ("inch", "英寸 インチ 인치"),
    ("µg", "微克 マイクログラム 마이크로그램"),
    ("mg", "毫克 ミリグラム 밀리그램"),
    ("g", "克 公克 グラム 그램"),
    ("kg", "千克 公斤 キログラム 킬로그램"),
    ("t", "吨 噸 公吨 公噸 トン 톤"),
    ("pounds", "磅 ポンド 파운드"),
    ("W", "瓦 瓦特 ワット 와트"),
    ("kW", "千瓦 千瓦特 キロワット 킬로와트"),
    ("MW", "兆瓦 兆瓦特 メガワット 메가와트"),
    ("GW", "吉瓦 ギガワット 기가와트"),
    ("TW", "太瓦 テラワット 테라와트"),
    ("Wh", "瓦时 瓦時 瓦小时 瓦小時 ワット時 와트시"),
    ("kWh", "千瓦时 千瓦時 千瓦小时 千瓦小時 キロワット時 キロワットアワー 킬로와트시"),
    ("MWh", "兆瓦时 兆瓦時 兆瓦小时 兆瓦小時 メガワット時 메가와트시"),
    ("GWh", "吉瓦时 吉瓦時 吉瓦小时 ギガワット時 기가와트시"),
    ("TWh", "太瓦时 太瓦時 テラワット時 테라와트시"),
    ("kcal", "千卡 大卡 キロカロリー 킬로칼로리"),
    ("kJ", "千焦 千焦耳 キロジュール"),
    ("V", "伏 伏特 ボルト 볼트"),
    ("kV", "千伏 キロボルト 킬로볼트"),
    ("Hz", "赫兹 赫茲 ヘルツ 헤르츠"),
    ("kHz", "千赫 千赫兹 キロヘルツ 킬로헤르츠"),
    ("MHz", "兆赫 兆赫兹 メガヘルツ 메가헤르츠"),
    ("GHz", "吉赫 吉赫兹 ギガヘルツ 기가헤르츠"),
    ("ms", "毫秒 ミリ秒 밀리초"),
    ("µs", "微秒 マイクロ秒 마이크로초"),
    ("ns", "纳秒 ナノ秒 나노초"),
    ("s", "秒 秒钟 秒鐘 秒間 초"),
    ("min", "分钟 分鐘 分間"),
    ("h", "小时 小時 个小时 個小時 個小时 時間 시간"),
    ("days", "天 日 日間 일"),
    ("weeks", "周 週 周间 週間 星期 个星期 個星期 주간"),
    ("months", "个月 個月 か月 ヶ月 カ月 ヵ月 ケ月 箇月 개월"),
    ("years", "年 年间 年間 년"),
    ("ml", "毫升 ミリリットル 밀리리터"),
    ("l", "升 公升 リットル 리터"),
    ("kubikmeter", "立方米 立方公尺 立方メートル 세제곱미터 입방미터"),
    ("quadratmeter", "平方米 平方公尺 平米 平方メートル 제곱미터 평방미터"),
    ("quadratkilometer", "平方公里 平方千米 平方キロメートル 平方キロ 제곱킬로미터 평방킬로미터"),
    ("ha", "公顷 公頃 ヘクタール 헥타르"),
    ("acre", "英亩 英畝 エーカー 에이커"),
    ("kb", "千字节 キロバイト 킬로바이트"),
    ("mb", "兆字节 メガバイト 메가바이트"),
    ("gb", "吉字节 ギガバイト 기가바이트"),
    ("tb", "太字节 テラバイト 테라바이트"),
    ("pp", "个百分点 個百分點 百分点 百分點 ポイント 퍼센트포인트"),
    ("bp", "个基点 個基點 基点 ベーシスポイント"),
    (
        "-",
        "日本 日経 日经 日报 日系 日前 日韩 年度 年代 年级 年級 年报 년대 년도 天津 天然 天空 天气 天文 天猫 周年 周期 周边 周岁 周六 周日 周一 周二 周三 周四 周五 \
         週年 週末 月份 米国 米軍 克拉 升级 升至 升到 升高 升幅 秒杀 瓦解 瓦斯 초과 초등 초반 일본 일부 일대 일반 トンネル",
    ),
];

/// Currencies by their kind. Of several that a text begins with, the longest is meant.
const CURRENCIES: &[(&str, &str)] = &[
    ("dollar", "ドル 달러"),
    ("us dollar", "美元 美金 米ドル 미국달러"),
    ("euro", "欧元 歐元 ユーロ 유로"),
    ("pound", "英镑 英鎊 英ポンド"),
    ("yen", "円 日元 日圓"),
    ("yuan", "人民币 人民幣 人民元 위안"),
    ("元", "元"),
    ("hong kong dollar", "港元 港币 港幣"),
    ("taiwan dollar", "新台币 新臺幣 新台幣"),
    ("won", "원 韩元 韓元 ウォン"),
];

/// What signs say, or that they say nothing of a unit.
static UNIT_OF: LazyLock<HashMap<&str, Option<Unit>, FixedState>> = LazyLock::new(|| {
    let of_line = |(word, names): &(&'static str, &'static str)| {
        let unit = units::unit_as_written(word, &word.to_lowercase());
        names.split_whitespace().map(move |name| (name, unit))
    };
    let of_kind = |(kind, names): &(&'static str, &'static str)| {
        let unit = Unit::of_currency(kind);
        names.split_whitespace().map(move |name| (name, Some(unit)))
    };
    UNITS.iter().flat_map(of_line).chain(CURRENCIES.iter().flat_map(of_kind)).collect()
});

/// Returns the unit whose signs a text begins with, the longest one, and how many there are.
pub fn unit(text: &str) -> Option<(Unit, usize)> {
    let ends = text.char_indices().map(|(at, char)| at + char.len_utf8()).take(LONGEST);
    if begins_with_minutes(text) {
        return units::unit("min").map(|unit| (unit, 1));
    }
    let known = ends.zip(1..).filter_map(|(end, signs)| Some((UNIT_OF.get(&text[..end])?, signs)));
    let (unit, signs) = known.last()?;
    Some(((*unit)?, signs))
}

/// Returns whether a text begins with the sign for minutes as Japanese writes it, with kana behind: in Chinese it
/// counts points. `5分の1` is a fraction.
fn begins_with_minutes(text: &str) -> bool {
    let behind = text.strip_prefix('分').and_then(|behind| behind.chars().next());
    behind.is_some_and(|next| ('\u{3041}'..='\u{30ff}').contains(&next) && next != 'の')
}

/// Returns the currency whose signs a text begins with.
pub fn currency(text: &str) -> Option<Unit> {
    unit(text).map(|(unit, _)| unit).filter(|unit| unit.is_money())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unit_is_meant() {
        let check = |text: &str, word: &str, signs: usize| {
            let expected = units::unit_as_written(word, &word.to_lowercase()).unwrap();
            assert_eq!(unit(text), Some((expected, signs)), "{text}");
        };
        check("千瓦时的电", "kWh", 3);
        check("千瓦", "kW", 2);
        check("平方キロメートルの", "quadratkilometer", 8);
        check("日間続いた", "days", 2);
        check("일이 걸렸다", "days", 1);
        check("米ドル", "USD", 3);
        check("分钟后", "min", 2);
        check("分である", "min", 1);
        for other in ["分", "分。", "分の1", "분", "日本", "天津", "千人", "年度", "", "일본"] {
            assert_eq!(unit(other), None, "{other}");
        }
        assert_eq!([currency("元"), currency("米")].map(|unit| unit.is_some()), [true, false]);
        let is_known = |(name, unit): (&&str, &Option<Unit>)| {
            unit.is_some() || UNITS.iter().any(|(word, names)| *word == "-" && names.contains(*name))
        };
        assert!(UNIT_OF.iter().all(is_known));
    }
}
