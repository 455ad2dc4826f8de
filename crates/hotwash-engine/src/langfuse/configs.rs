//! Score configs: names, types and labels that scores keep to. Names are not unique, and nothing can be deleted.

use super::client::Paging;
use super::wire::{Query, encoded};
use super::{Client, LangfuseError, ScoreValue};
use crate::net::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// A label of a config, and the number behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// The label.
    pub label: String,
    /// The number.
    pub value: f64,
}

/// A config as it is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedConfig {
    /// Its name: that of the score.
    pub name: String,
    /// What values may be.
    pub shape: Shape,
    /// What it measures, for people.
    pub description: String,
}

/// What the values of a config may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A number from 0 to 1.
    Share,
    /// One of these.
    Labels(Vec<Category>),
    /// Yes or no.
    YesNo,
}

impl Shape {
    /// What Langfuse calls the type.
    pub fn data_type(&self) -> &'static str {
        match self {
            Shape::Share => "NUMERIC",
            Shape::Labels(_) => "CATEGORICAL",
            Shape::YesNo => "BOOLEAN",
        }
    }
}

/// A config as it is there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredConfig {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// It takes no more scores.
    #[serde(default)]
    pub is_archived: bool,
    /// The lowest number.
    pub min_value: Option<f64>,
    /// The highest number.
    pub max_value: Option<f64>,
    /// The labels.
    pub categories: Option<Vec<Category>>,
    /// What it measures.
    pub description: Option<String>,
    /// When it was made, by which the oldest of several is known.
    #[serde(default)]
    pub created_at: String,
}

impl StoredConfig {
    /// Where it differs from what is wanted, in words; nothing where it does not.
    pub fn differences(&self, wanted: &WantedConfig) -> Vec<String> {
        let mut all = Vec::new();
        if self.data_type != wanted.shape.data_type() {
            all.push(format!("is {}, not {}", self.data_type, wanted.shape.data_type()));
        } else if let Shape::Labels(labels) = &wanted.shape {
            let shown = |labels: &[Category]| {
                labels.iter().map(|label| format!("{}={}", label.label, label.value)).collect::<Vec<_>>().join(" ")
            };
            let mut there = self.categories.clone().unwrap_or_default();
            there.sort_by(|a, b| a.value.total_cmp(&b.value));
            if there != *labels {
                all.push(format!("has the labels {}, not {}", shown(&there), shown(labels)));
            }
        } else if wanted.shape == Shape::Share && (self.min_value, self.max_value) != (Some(0.0), Some(1.0)) {
            let shown = |end: Option<f64>| end.map_or("open".to_owned(), |end| end.to_string());
            all.push(format!("goes from {} to {}, not from 0 to 1", shown(self.min_value), shown(self.max_value)));
        }
        if self.is_archived {
            all.push("is archived".to_owned());
        }
        all
    }

    /// Whether the server will keep a value under this config: where not, it drops it without a word.
    pub fn takes(&self, value: &ScoreValue) -> bool {
        !self.is_archived
            && self.data_type == value.data_type()
            && match value {
                ScoreValue::Number(number) => {
                    self.min_value.is_none_or(|min| *number >= min) && self.max_value.is_none_or(|max| *number <= max)
                }
                ScoreValue::Label(label) => self.categories.iter().flatten().any(|known| known.label == *label),
                ScoreValue::Bool(_) => true,
            }
    }
}

impl Client {
    /// All configs of the project, the oldest first.
    pub fn configs(&self) -> Result<Vec<StoredConfig>, LangfuseError> {
        let mut all: Vec<StoredConfig> = Vec::new();
        self.pages(("/score-configs", &Query::default()), Paging::Number, 100, &mut |raw| {
            // Kinds that are not known here are nobody's business here.
            all.extend(serde_json::from_str::<StoredConfig>(raw.get()).ok());
            Ok(ControlFlow::Continue(()))
        })?;
        all.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        all.dedup_by(|a, b| a.id == b.id);
        Ok(all)
    }

    /// Makes a config. It must not be made twice, so where it is not clear whether it was, that is the error.
    pub(crate) fn create_config(&self, wanted: &WantedConfig) -> Result<StoredConfig, LangfuseError> {
        let mut body = json!({
            "name": wanted.name, "dataType": wanted.shape.data_type(), "description": wanted.description,
        });
        limits(&mut body, &wanted.shape);
        self.send_once("/score-configs", body.to_string().as_bytes())
    }

    /// Makes a config what it should be. Its type cannot be changed.
    pub(crate) fn change_config(&self, id: &str, wanted: &WantedConfig) -> Result<StoredConfig, LangfuseError> {
        let mut body = json!({ "isArchived": false, "description": wanted.description });
        limits(&mut body, &wanted.shape);
        self.send(Method::Patch, &format!("/score-configs/{}", encoded(id)), Some(body.to_string().as_bytes()))
    }
}

fn limits(body: &mut Value, shape: &Shape) {
    match shape {
        Shape::Share => (body["minValue"], body["maxValue"]) = (json!(0), json!(1)),
        Shape::Labels(labels) => body["categories"] = json!(labels),
        Shape::YesNo => {}
    }
}
