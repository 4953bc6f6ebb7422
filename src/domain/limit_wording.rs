//! What code says of the limits of a report, in each language that code writes.

/// The words for one language: labels that stand before a colon, and what may stand behind one.
#[derive(Debug, PartialEq, Eq)]
pub struct LimitWording {
    /// Over the section.
    pub heading: &'static str,
    /// Figures that stand in no cited source.
    pub unsupported: &'static str,
    pub unanswered: &'static str,
    pub partly: &'static str,
    pub nothing_found: &'static str,
    pub failed_searches: &'static str,
    pub unread_pages: &'static str,
    pub ended_early: &'static str,
    pub out_of_time: &'static str,
    pub out_of_budget: &'static str,
    pub failure: &'static str,
    pub out_of_rounds: &'static str,
    /// Beside a citation.
    pub mark_unsupported: &'static str,
    pub mark_partly: &'static str,
}

pub const EN: LimitWording = LimitWording {
    heading: "Limits of this report",
    unsupported: "Stated here, but not found in the cited sources",
    unanswered: "Not answered by the sources",
    partly: "Answered only in part",
    nothing_found: "Nothing was found about",
    failed_searches: "Searches that failed",
    unread_pages: "Pages that could not be read",
    ended_early: "The research ended early",
    out_of_time: "the time was over",
    out_of_budget: "the spending limit was reached",
    failure: "a technical failure",
    out_of_rounds: "all rounds were used",
    mark_unsupported: "not found in the source",
    mark_partly: "partly found in the source",
};

pub const DE: LimitWording = LimitWording {
    heading: "Grenzen dieses Berichts",
    unsupported: "Hier behauptet, aber in den angegebenen Quellen nicht gefunden",
    unanswered: "Von den Quellen nicht beantwortet",
    partly: "Nur zum Teil beantwortet",
    nothing_found: "Nichts gefunden zu",
    failed_searches: "Gescheiterte Suchen",
    unread_pages: "Seiten, die nicht gelesen werden konnten",
    ended_early: "Die Recherche endete vorzeitig",
    out_of_time: "die Zeit war um",
    out_of_budget: "die Ausgabengrenze war erreicht",
    failure: "ein technischer Fehler",
    out_of_rounds: "alle Runden waren verbraucht",
    mark_unsupported: "in der Quelle nicht gefunden",
    mark_partly: "in der Quelle nur zum Teil gefunden",
};

pub const FR: LimitWording = LimitWording {
    heading: "Limites de ce rapport",
    unsupported: "Affirmé ici, mais introuvable dans les sources citées",
    unanswered: "Sans réponse dans les sources",
    partly: "Réponse seulement partielle",
    nothing_found: "Rien n'a été trouvé sur",
    failed_searches: "Recherches qui ont échoué",
    unread_pages: "Pages qui n'ont pas pu être lues",
    ended_early: "La recherche s'est arrêtée plus tôt",
    out_of_time: "le temps était écoulé",
    out_of_budget: "la limite de dépenses était atteinte",
    failure: "une panne technique",
    out_of_rounds: "tous les tours étaient utilisés",
    mark_unsupported: "introuvable dans la source",
    mark_partly: "trouvé en partie dans la source",
};

pub const ES: LimitWording = LimitWording {
    heading: "Límites de este informe",
    unsupported: "Afirmado aquí, pero no encontrado en las fuentes citadas",
    unanswered: "Sin respuesta en las fuentes",
    partly: "Respondido solo en parte",
    nothing_found: "No se encontró nada sobre",
    failed_searches: "Búsquedas que fallaron",
    unread_pages: "Páginas que no se pudieron leer",
    ended_early: "La investigación terminó antes",
    out_of_time: "se acabó el tiempo",
    out_of_budget: "se alcanzó el límite de gasto",
    failure: "un fallo técnico",
    out_of_rounds: "se usaron todas las rondas",
    mark_unsupported: "no encontrado en la fuente",
    mark_partly: "encontrado en parte en la fuente",
};

pub const IT: LimitWording = LimitWording {
    heading: "Limiti di questo rapporto",
    unsupported: "Affermato qui, ma non trovato nelle fonti citate",
    unanswered: "Senza risposta nelle fonti",
    partly: "Risposta solo parziale",
    nothing_found: "Non è stato trovato nulla su",
    failed_searches: "Ricerche fallite",
    unread_pages: "Pagine che non è stato possibile leggere",
    ended_early: "La ricerca è finita prima",
    out_of_time: "il tempo era scaduto",
    out_of_budget: "il limite di spesa era raggiunto",
    failure: "un guasto tecnico",
    out_of_rounds: "tutti i turni erano usati",
    mark_unsupported: "non trovato nella fonte",
    mark_partly: "trovato in parte nella fonte",
};

pub const PT: LimitWording = LimitWording {
    heading: "Limites deste relatório",
    unsupported: "Afirmado aqui, mas não encontrado nas fontes citadas",
    unanswered: "Sem resposta nas fontes",
    partly: "Respondido apenas em parte",
    nothing_found: "Nada foi encontrado sobre",
    failed_searches: "Pesquisas que falharam",
    unread_pages: "Páginas que não puderam ser lidas",
    ended_early: "A pesquisa terminou mais cedo",
    out_of_time: "o tempo acabou",
    out_of_budget: "o limite de gastos foi atingido",
    failure: "uma falha técnica",
    out_of_rounds: "todas as rondas foram usadas",
    mark_unsupported: "não encontrado na fonte",
    mark_partly: "encontrado em parte na fonte",
};

pub const NL: LimitWording = LimitWording {
    heading: "Beperkingen van dit rapport",
    unsupported: "Hier beweerd, maar niet gevonden in de genoemde bronnen",
    unanswered: "Niet beantwoord door de bronnen",
    partly: "Slechts gedeeltelijk beantwoord",
    nothing_found: "Niets gevonden over",
    failed_searches: "Mislukte zoekopdrachten",
    unread_pages: "Pagina's die niet gelezen konden worden",
    ended_early: "Het onderzoek eindigde eerder",
    out_of_time: "de tijd was om",
    out_of_budget: "de uitgavenlimiet was bereikt",
    failure: "een technische storing",
    out_of_rounds: "alle rondes waren gebruikt",
    mark_unsupported: "niet gevonden in de bron",
    mark_partly: "gedeeltelijk gevonden in de bron",
};

pub const ZH: LimitWording = LimitWording {
    heading: "本报告的局限",
    unsupported: "文中提到但在所引来源中未找到",
    unanswered: "来源未能回答",
    partly: "仅部分得到回答",
    nothing_found: "未找到任何相关内容",
    failed_searches: "失败的搜索",
    unread_pages: "无法读取的网页",
    ended_early: "研究提前结束",
    out_of_time: "时间用尽",
    out_of_budget: "达到花费上限",
    failure: "技术故障",
    out_of_rounds: "轮次用尽",
    mark_unsupported: "来源中未找到",
    mark_partly: "来源中仅部分找到",
};

pub const JA: LimitWording = LimitWording {
    heading: "本レポートの限界",
    unsupported: "本文にあるが引用元で確認できなかったもの",
    unanswered: "情報源では答えられなかった点",
    partly: "一部のみ答えられた点",
    nothing_found: "何も見つからなかった項目",
    failed_searches: "失敗した検索",
    unread_pages: "読めなかったページ",
    ended_early: "調査は途中で終了した",
    out_of_time: "時間切れ",
    out_of_budget: "費用の上限に達した",
    failure: "技術的な障害",
    out_of_rounds: "全ラウンドを使い切った",
    mark_unsupported: "出典で確認できず",
    mark_partly: "出典で一部のみ確認",
};

pub const KO: LimitWording = LimitWording {
    heading: "이 보고서의 한계",
    unsupported: "본문에 있으나 인용한 출처에서 찾지 못한 것",
    unanswered: "출처가 답하지 못한 것",
    partly: "일부만 답한 것",
    nothing_found: "아무것도 찾지 못한 주제",
    failed_searches: "실패한 검색",
    unread_pages: "읽지 못한 페이지",
    ended_early: "조사가 일찍 끝남",
    out_of_time: "시간이 다 됨",
    out_of_budget: "비용 한도에 도달함",
    failure: "기술적 장애",
    out_of_rounds: "모든 라운드를 사용함",
    mark_unsupported: "출처에서 찾지 못함",
    mark_partly: "출처에서 일부만 찾음",
};

pub const RU: LimitWording = LimitWording {
    heading: "Ограничения этого отчёта",
    unsupported: "Указано здесь, но не найдено в приведённых источниках",
    unanswered: "Источники не дают ответа",
    partly: "Ответ лишь частичный",
    nothing_found: "Ничего не найдено о",
    failed_searches: "Неудавшиеся поиски",
    unread_pages: "Страницы, которые не удалось прочитать",
    ended_early: "Исследование закончилось раньше",
    out_of_time: "вышло время",
    out_of_budget: "достигнут предел расходов",
    failure: "технический сбой",
    out_of_rounds: "использованы все раунды",
    mark_unsupported: "не найдено в источнике",
    mark_partly: "найдено в источнике частично",
};

pub const AR: LimitWording = LimitWording {
    heading: "حدود هذا التقرير",
    unsupported: "ورد هنا ولم يوجد في المصادر المذكورة",
    unanswered: "لم تجب عنه المصادر",
    partly: "أُجيب عنه جزئيًا فقط",
    nothing_found: "لم يوجد شيء عن",
    failed_searches: "عمليات بحث فشلت",
    unread_pages: "صفحات تعذرت قراءتها",
    ended_early: "انتهى البحث قبل أوانه",
    out_of_time: "انتهى الوقت",
    out_of_budget: "بلغ الإنفاق حده",
    failure: "عطل تقني",
    out_of_rounds: "استُخدمت كل الجولات",
    mark_unsupported: "لم يوجد في المصدر",
    mark_partly: "وُجد جزئيًا في المصدر",
};
