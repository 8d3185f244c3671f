use super::super::fixtures::{model, scope};
use super::*;
use crate::OutputFormat;

#[test]
fn forced_text_is_written_in_the_tokenizers_own_tokens_and_to_the_byte() {
    let format = OutputFormat { tools: Some(OutputFormat::tool_format("harmony").unwrap()), reasoning: None };
    let model = model(format, "");
    let vocabulary = Vocabulary::new(Arc::clone(&model.tokenizer), model.shown(), &scope(&model));
    let call = model.tokenizer.id("<|call|>").unwrap();
    assert_eq!(vocabulary.tokenize_bytes(b"a<|call|>"), [u32::from(b'a'), call]);
    // The token that ends answers stands for no text.
    assert_eq!(vocabulary.tokenize_bytes(b"<|im_end|>").len(), 10);
    assert_eq!(vocabulary.tokenize_bytes(&[0xe4, 0xbd]), [0xe4, 0xbd]);
}
