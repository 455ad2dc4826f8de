//! Datasets, which are made and changed by name, and their items, by id.

use super::client::Paging;
use super::wire::Query;
use super::{Client, LangfuseError};
use crate::net::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// An item of a dataset. Its id must be the only one of its kind in the whole project.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetItem {
    /// Its id.
    pub id: String,
    /// What is asked.
    #[serde(default)]
    pub input: Value,
    /// What should come of it.
    #[serde(default)]
    pub expected_output: Value,
    /// What else there is to know.
    #[serde(default)]
    pub metadata: Value,
    /// The trace it is about.
    #[serde(default)]
    pub source_trace_id: Option<String>,
}

impl Client {
    /// Makes a dataset, where it is not there.
    pub fn put_dataset(&self, name: &str, description: &str) -> Result<(), LangfuseError> {
        let body = json!({ "name": name, "description": description }).to_string();
        self.send::<Value>(Method::Post, "/v2/datasets", Some(body.as_bytes())).map(|_| ())
    }

    /// Whether datasets may be read.
    pub(crate) fn has_datasets(&self) -> Result<(), LangfuseError> {
        let query = Query::default().with("page", "1").with("limit", "1");
        self.get::<Value>(&query.after("/v2/datasets")).map(|_| ())
    }

    /// The items of a dataset; none where there is no such dataset.
    pub fn dataset_items(&self, dataset: &str) -> Result<Vec<DatasetItem>, LangfuseError> {
        let mut all = Vec::new();
        let query = Query::default().with("datasetName", dataset);
        let done = self.pages(("/dataset-items", &query), Paging::Number, 100, &mut |raw| {
            all.extend(serde_json::from_str::<DatasetItem>(raw.get()).ok());
            Ok(ControlFlow::Continue(()))
        });
        match done {
            Err(error) if error.status == Some(404) => Ok(Vec::new()),
            done => done.map(|()| all),
        }
    }

    /// Makes an item, or changes the one under its id.
    pub fn put_dataset_item(&self, dataset: &str, item: &DatasetItem) -> Result<(), LangfuseError> {
        let mut body = json!({
            "datasetName": dataset, "id": item.id, "input": item.input,
            "expectedOutput": item.expected_output, "metadata": item.metadata, "status": "ACTIVE",
        });
        if let Some(trace) = &item.source_trace_id {
            body["sourceTraceId"] = json!(trace);
        }
        self.send::<Value>(Method::Post, "/dataset-items", Some(body.to_string().as_bytes())).map(|_| ())
    }
}
